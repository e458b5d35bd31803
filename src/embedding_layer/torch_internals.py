"""PyTorch's private names, all of the package's in one file.

Written by hand. No public name answers these questions; when a new PyTorch
fails, look here first. tests/layer names each of them.
"""

from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as everywhere

# What the call of a module runs, before anybody can have replaced it.
CALL_IMPL = nn.Module._call_impl
# Where nn.Module keeps its registered tensors.
STORES = {"parameter": "_parameters", "buffer": "_buffers"}


def parts_of(module: nn.Module) -> dict[str, Any]:
    """The parts of a module by name: what `module.name` finds, only faster."""
    return module._modules


def weight_of(table: nn.Module) -> Any:
    """The registered weight of a table, or None: `table.weight`, only faster."""
    return table._parameters.get("weight")


def is_transformed() -> bool:
    """True while torch.compile, torch.export, torch.func or torch.jit.trace runs
    the code. They rewrite it themselves: give them its plainest form.
    """
    return (
        torch.compiler.is_compiling()
        or torch._C._functorch.peek_interpreter_stack() is not None
        or torch._C._get_tracing_state() is not None
    )


def is_watched() -> bool:
    """True if the code is transformed, or a mode sees every operation and may
    replace it (fake tensors, counters).
    """
    return (
        is_transformed()
        or torch._C._len_torch_function_stack() > 0
        or torch._C._len_torch_dispatch_stack() > 0
    )


def has_hooks(*modules: nn.Module) -> bool:
    """True if a call of one of `modules` runs hooks, its own or everybody's."""
    if (
        everywhere._global_forward_pre_hooks
        or everywhere._global_forward_hooks
        or everywhere._global_backward_pre_hooks
        or everywhere._global_backward_hooks
    ):
        return True
    for module in modules:
        if (
            module._forward_pre_hooks
            or module._forward_hooks
            or module._backward_pre_hooks
            or module._backward_hooks
        ):
            return True
    return False


def has_own_call(*tables: nn.Module) -> bool:
    """True if an instance has a forward of its own, or a weight beside the
    registered one: what an instance has is found before what its class has.
    Or if somebody replaced what every module's call runs.
    """
    for table in tables:
        own = table.__dict__
        if (
            "forward" in own
            or "weight" in own
            or "_call_impl" in own
            or "_compiled_call_impl" in own
            or type(table)._call_impl is not CALL_IMPL
        ):
            return True
    return False
