"""A slider through prepared pictures. It moves without a kernel."""

import html

import ipywidgets as widgets

from book_helpers.figures import svg


class Slides:
    """Pictures behind one slider and a play button.

    The browser moves them: `jslink` ties the slider to the picture shown, so
    the published page needs no Python. ipywidgets 7, which Colab has, lacks
    `Stack`; there the kernel swaps the picture.

    Args:
        name: what the slider changes, shown beside it
        frames: one (label, figure, caption) per stop. The caption is shown
            below the picture and is its alternative text.
        start: index of the frame shown first
    """

    def __init__(self, name, frames, start=0):
        labels = [str(label) for label, _, _ in frames]
        pages = [
            self._page(f"{name} {label}".strip(), fig, caption, f"s{i}")
            for i, (label, fig, caption) in enumerate(frames)
        ]
        self.summary = f"slider {name!r}: {', '.join(labels)}"
        slider = widgets.SelectionSlider(
            options=labels,
            index=start,
            description=name,
            style={"description_width": "initial"},
        )
        play = widgets.Play(value=start, min=0, max=len(frames) - 1, interval=900)
        widgets.jslink((play, "value"), (slider, "index"))
        if hasattr(widgets, "Stack"):
            view = widgets.Stack(
                [widgets.HTML(page) for page in pages], selected_index=start
            )
            widgets.jslink((slider, "index"), (view, "selected_index"))
        else:
            view = widgets.HTML(pages[start])
            slider.observe(
                lambda change: setattr(view, "value", pages[change["new"]]),
                "index",
            )
        self.widget = widgets.VBox([widgets.HBox([play, slider]), view])

    @staticmethod
    def _page(name, fig, caption, prefix):
        picture = svg(fig, f"{name}: {caption}", prefix)
        return f"{picture}<p>{html.escape(caption)}</p>"

    def _repr_mimebundle_(self, **kwargs):
        bundle = self.widget._repr_mimebundle_(**kwargs)
        # The widget's own text would hold every picture.
        return {**bundle, "text/plain": self.summary}
