# Made from notebooks/07_device_placement.ipynb by `make sync`.
# Edit the notebook, not this file.

from typing import Any

import torch
from torch import Tensor, nn

from embedding_layer.torch_internals import STORES


def choose_device() -> torch.device:
    """The accelerator of this machine (CUDA, MPS, XPU, ...), else the CPU.

    Source: torch.accelerator, PyTorch 2.6 or later.
    """
    available = torch.accelerator.is_available()
    found = torch.accelerator.current_accelerator() if available else None
    return found or torch.device("cpu")


def describe_device(device: Any) -> str:
    """One line for a log: how many of this kind there are, and their name.

    Args:
        device: a torch.device or its name
    """
    backend = torch.get_device_module(device)
    kind = torch.device(device).type
    line = f"{backend.device_count()} x {kind}"
    if hasattr(backend, "get_device_name"):  # CUDA and XPU tell it
        line += f" ({backend.get_device_name(device)})"
    return line


def find_tensors(module: nn.Module) -> dict[str, tuple[str, Tensor]]:
    """The tensors that a module and its parts hold, and how they hold them.

    Looks at parameters, buffers and the attributes of each part, and into
    lists, tuples and dicts kept as attributes, one level deep; not at what a
    class holds, at sets, or into other objects. A tied tensor stands there
    under each of its names, a part that is registered twice under its first
    name only.

    Args:
        module: any nn.Module

    Returns:
        dict, name to (kind, tensor); kind is "parameter", "buffer" or
        "attribute"
    """
    found = {}
    for path, part in module.named_modules():
        held = [(kind, vars(part)[store]) for kind, store in STORES.items()]
        others = {k: v for k, v in vars(part).items() if k not in STORES.values()}
        held.append(("attribute", others))
        for name, value in others.items():
            if isinstance(value, (list, tuple)):
                value = dict(enumerate(value))
            if isinstance(value, dict):
                inner = {f"{name}.{key}": item for key, item in value.items()}
                held.append(("attribute", inner))
        for kind, values in held:
            for name, value in values.items():
                if isinstance(value, Tensor):
                    found[f"{path}.{name}".lstrip(".")] = kind, value
    return found


def check_placed(module: nn.Module, device: Any) -> None:
    """Check that every tensor that `find_tensors` finds is on `device`.

    Args:
        module: any nn.Module
        device: a torch.device or its name; "cuda" means the current card

    Raises:
        RuntimeError: names each tensor that is elsewhere and how it is held
    """
    # torch.device("cuda") has no index, a tensor on it has: ask a tensor
    device = torch.empty(0, device=device).device
    strays = [
        f"{kind} {name} on {tensor.device}"
        for name, (kind, tensor) in find_tensors(module).items()
        if tensor.device != device
    ]
    if strays:
        raise RuntimeError(f"not on {device}: " + ", ".join(strays))


def check_optimizer(optimizer: torch.optim.Optimizer, module: nn.Module) -> None:
    """Check that an optimizer holds a module's own parameters, state included.

    Parameters with requires_grad=False may be missing. Meant for PyTorch's own
    optimizers: others may keep their state in a dtype of their choice.

    Args:
        optimizer: a torch.optim.Optimizer
        module: the nn.Module whose parameters it should hold

    Raises:
        RuntimeError: names the first parameter that the optimizer does not
            hold, or whose state is on another device or in another dtype
    """
    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
    for name, parameter in module.named_parameters():
        if parameter.requires_grad and id(parameter) not in held:
            raise RuntimeError(
                f"the optimizer does not hold {name}; make the optimizer after the move"
            )
        for key, value in optimizer.state.get(parameter, {}).items():
            # step counters are 0-d and may stay on the CPU
            if (
                isinstance(value, Tensor)
                and value.dim()
                and ((value.device, value.dtype) != (parameter.device, parameter.dtype))
            ):
                raise RuntimeError(
                    f"{key} of {name} is {value.dtype} on {value.device}, the "
                    f"parameter {parameter.dtype} on {parameter.device}; after "
                    "the move, optimizer.load_state_dict(optimizer.state_dict())"
                )
