"""A kernel as an operator of torch: `torch.ops`, `torch.compile` and autograd know it.

An operator is registered in `torch.library` with what each of them asks for: implementations on the CPU and on CUDA,
shapes for fake tensors, and a gradient, which is made of kernels of its own (`backward`). Through torch's dispatcher an
operator written in Python costs some ten microseconds, with a gradient registered some twenty, whether one is wanted or
not. So a call of an `Operator` goes there only if somebody listens: a tracer, a mode, a tensor of another class. Else
it is a call of the kernel's plan for such tensors (`polyvolta.compiler.plans`), and where a gradient is wanted an
`autograd.Function` around that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakValueDictionary

import torch

from polyvolta.compiler.plans import Plans, Seen
from polyvolta.compiler.run import first_call
from polyvolta.display.page import fold, heading, said
from polyvolta.display.shown import Shown
from polyvolta.display.text import filled
from polyvolta.graph.binding import bind
from polyvolta.graph.reference import reference
from polyvolta.torch.backward import Backward
from polyvolta.torch.errors import BadOperator, NoGradient
from polyvolta.torch.shapes import arranged, check, empty_results

if TYPE_CHECKING:
    from polyvolta.compiler.kernel import Kernel
    from polyvolta.compiler.variants.kernels import VariedKernel
    from polyvolta.graph.dag import Graph, Outputs

OnCpu = Literal["kernel", "reference"]
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*::[A-Za-z_][A-Za-z0-9_]*")
_PLAIN = (torch.Tensor, torch.nn.Parameter)
_numbers = count()
_known: WeakValueDictionary[str, Operator] = WeakValueDictionary()
has_torch_function = torch.overrides.has_torch_function


def operator(
    outputs: Outputs | Graph | Kernel | VariedKernel,
    name: str | None = None,
    *,
    gradient: bool = True,
    on_cpu: OnCpu = "kernel",
    **compiled: Any,
) -> Operator:
    """A kernel as an operator of torch, with its gradient.

    Parameters
    ----------
    outputs : an expression or several, as for `pv.compile`, or a kernel that is compiled already.
    name : "namespace::name" in `torch.ops`; by default "polyvolta::kern0_" and a number. Each may be given once.
    gradient : whether it has one. Without, a tensor that requires one is refused, unless grad mode is off.
    on_cpu : how tensors in host memory are computed: "kernel", by the kernel, on the GPU if there is one, else
        interpreted; "reference", in float64 and rounded once, which takes a thousandth of the interpreter's time.
    compiled : of an expression: what `pv.compile` takes, such as target= and options=.

    Returns
    -------
    A callable that takes tensors and numbers in the order in which tensors and scalars first appear, or by name, and
    gives a tensor, or a tuple of them. Tensors have their declared shapes and element types. Strides are as they come:
    a tensor that doesn't lie in the layout that is declared for it is copied.

    Raises
    ------
    BadOperator : of a name, or of `on_cpu`.
    whatever `pv.compile` raises.

    >>> import polyvolta as pv
    >>> M, N, K = pv.sizes("M N K")
    >>> A, B, bias = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col"), pv.tensor("bias", (N,))
    >>> linear = operator(pv.relu(A @ B + bias), "doc::linear_relu")
    >>> x, weight, b = torch.ones(3, 8).half(), torch.ones(5, 8).half().requires_grad_(), torch.ones(5).half()
    >>> y = linear(x, weight.t(), b)
    >>> y.sum().backward()
    >>> y.shape, y.dtype, weight.grad[0, 0].item()
    (torch.Size([3, 5]), torch.float16, 3.0)
    """
    from polyvolta.compiler.compiled import Compiled
    from polyvolta.compiler.driver import compile
    from polyvolta.compiler.variants.kernels import VariedKernel

    if on_cpu not in ("kernel", "reference"):
        raise BadOperator(f"on_cpu={on_cpu!r}", hint='"kernel", or "reference"')
    if name is not None and not (isinstance(name, str) and _NAME.fullmatch(name)):
        raise BadOperator(f"{name!r} names no operator", hint='two words, as in "mylib::linear_relu"')
    if isinstance(outputs, Compiled | VariedKernel):
        if compiled:
            given = ", ".join(compiled)
            raise BadOperator(f"{given}: the kernel is compiled already", hint="give the expression in its place")
        kernel: Any = outputs
    else:
        kernel = compile(outputs, **compiled)
    return Operator(kernel, name or f"polyvolta::{kernel.name}_{next(_numbers)}", "derived" if gradient else "refused",
                    on_cpu)  # fmt: skip


class Operator(Shown):
    """A kernel as an operator of torch; `operator` makes it.

    Attributes
    ----------
    kernel : what it runs.
    name : in `torch.ops`, "namespace::name".
    overload : torch's own object for it, what `torch.library.opcheck` takes.
    backward : its gradient; None where it has none.
    """

    def __init__(
        self, kernel: Any, name: str, gradient: Literal["derived", "refused", "second"], on_cpu: OnCpu
    ) -> None:
        self.kernel, self.name, self.gradient = kernel, name, gradient
        self.on_cpu: OnCpu = on_cpu
        self.graph: Graph = kernel.graph
        self.argument_names = tuple(t.name for t in self.graph.arguments)
        self._single = len(self.graph.outputs) == 1
        self._plans = Plans(self.graph, getattr(kernel, "variants", (kernel,))[0].ir)
        self.backward = Backward(self.graph, name, self._made) if gradient == "derived" else None
        self._library = _registered(self)
        namespace, _, word = name.partition("::")
        self.overload = getattr(getattr(torch.ops, namespace), word).default
        _known[name] = self

    def __reduce__(self) -> tuple[Any, ...]:
        """Its kernel and name: the operator of that name where there is one, else made once more."""
        return _restored, (self.kernel, self.name, self.gradient, self.on_cpu)

    def __deepcopy__(self, memo: dict[int, Any]) -> Operator:
        """Itself: there is one of its name, and it holds no state of a model's."""
        return self

    def __repr__(self) -> str:
        return filled(f"<Operator {self.name}: {' '.join(repr(self.kernel).split())}>")

    def _html(self) -> str:
        gradient = fold("gradient", self.backward._html()) if self.backward is not None else said("no gradient")
        return heading(self.name, "an operator of torch") + gradient + self.kernel._html()

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """The results for tensors and numbers, in order or by name.

        Raises
        ------
        WrongTensor : tensors of other types, on several devices, or of other dimensions.
        ArrayMismatch, BadArguments : shapes that don't agree; arguments that are missing or too many.
        NoGradient : one that requires a gradient, of an operator without.
        """
        if named or len(arguments) != len(self.argument_names):
            arguments = self._in_order(arguments, named)
        if torch.compiler.is_compiling() or has_torch_function(arguments) or _watched():
            return self.overload(*arguments)
        if _transforms():
            return _Transformed.apply(*arguments, self)
        if torch.is_grad_enabled():
            for x in arguments:
                if getattr(x, "requires_grad", False):
                    return _WithGradient.apply(*arguments, self)
        return self._run(*arguments)

    def _in_order(self, arguments: tuple, named: dict[str, Any]) -> tuple:
        missing = self.argument_names[len(arguments) :]
        if len(arguments) + len(named) != len(self.argument_names) or any(n not in named for n in missing):
            bind(self.graph, arguments, named)  # which says what is wrong
        return (*arguments, *[named[n] for n in missing])

    def _run(self, *arguments: Any) -> Any:
        """Compute, without a thought of gradients."""
        seen, plan = self._plans.look(arguments, {}, None, None)
        if plan is not None and seen is not None:
            results = plan.run(seen)
            if results is not None:
                return results[0] if self._single else results
        return self._first(arguments, seen)

    def _first(self, arguments: Sequence[Any], seen: Seen | None) -> Any:
        """A call that no plan is there for: checked, and with tensors copied that lie otherwise than declared."""
        check(self.graph, arguments)
        if any(isinstance(x, torch.Tensor) and type(x) not in _PLAIN for x in arguments):
            return self.overload(*arguments)
        place = next(x for x in arguments if isinstance(x, torch.Tensor)).device
        if place.type not in ("cpu", "cuda"):
            return self.overload(*arguments)
        if place.type == "cuda" and place.index != torch.cuda.current_device():
            with torch.cuda.device(place):
                return self._run(*arguments)
        given = [arranged(x, t) if t.dims else x for t, x in zip(self.graph.arguments, arguments, strict=True)]
        if place.type == "cpu":
            return self._on_cpu(given)
        bound = bind(self.graph, given)
        copied = any(x.data_ptr() != y.data_ptr() for x, y in zip(given, arguments) if isinstance(x, torch.Tensor))
        serving = self.kernel.serving(bound.sizes)
        return first_call(serving, self._plans, bound, None, None, None if copied else seen)

    def _on_cpu(self, given: Sequence[Any]) -> Any:
        if self.on_cpu == "kernel":
            return self.kernel(*given)
        exact = reference(self.graph, *given)
        results = empty_results(self.graph, given)
        for rounded, value in zip(results, exact, strict=True):
            rounded.copy_(torch.as_tensor(value))
        return results[0] if self._single else results

    # ---- for torch.library

    def _implemented(self, *arguments: Any) -> Any:
        """Compute what the dispatcher gives, which tensors of other classes have let through."""
        plain = (x if not isinstance(x, torch.Tensor) or type(x) in _PLAIN else x.as_subclass(torch.Tensor)
                 for x in arguments)  # fmt: skip
        return self._run(*plain)

    def _fake(self, *arguments: Any) -> Any:
        """Results without values."""
        results = empty_results(self.graph, arguments)
        return results[0] if self._single else results

    def _save(self, ctx: Any, inputs: Sequence[Any], output: Any) -> None:
        """What the gradient will need; raises where there is none and one is wanted."""
        pairs = list(zip(self.graph.arguments, inputs, strict=True))
        wanted = [t.name for (t, _), needed in zip(pairs, ctx.needs_input_grad) if needed and t.dims]
        if self.gradient == "refused" and wanted:
            require = "require" if len(wanted) > 1 else "requires"
            raise NoGradient(
                f"{self.name} has no gradient, and {', '.join(wanted)} {require} one",
                where=str(self.graph),
                hint="operator(..., gradient=True); or call it under torch.no_grad(), or with x.detach()",
            )
        read = self.backward.reads if self.backward is not None else frozenset()
        ctx.save_for_backward(*(x if t.dims and t.name in read else None for t, x in pairs))
        ctx.wanted = wanted
        ctx.numbers = {t.name: x for t, x in pairs if not t.dims}

    def _backward(self, ctx: Any, *seeds: Any) -> tuple[Any, ...]:
        """A gradient for each argument, None for numbers and for what wants none."""
        if self.backward is None:
            raise NoGradient(
                f"{self.name} computes a gradient, and has none itself",
                where=str(self.graph),
                hint="second derivatives are none of polyvolta.torch; backward(create_graph=False)",
            )
        tensors = {t.name: x for t, x in zip(self.graph.arguments, ctx.saved_tensors, strict=True) if x is not None}
        made = self.backward(ctx.wanted, {**tensors, **ctx.numbers}, seeds)
        return tuple(made.get(name) for name in self.argument_names)

    def _made(self, outputs: Outputs, name: str) -> Operator:
        """An operator of the gradient, for the same target."""
        from polyvolta.compiler.driver import compile

        return Operator(compile(outputs, self.kernel.target), name, "second", self.on_cpu)


class _WithGradient(torch.autograd.Function):
    """A call of an operator, which comes last among the arguments."""

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Any:
        *arguments, op = inputs
        op._save(ctx, arguments, None)
        ctx.op = op
        return op._run(*arguments)

    @staticmethod
    def backward(ctx: Any, *seeds: Any) -> tuple[Any, ...]:
        return (*ctx.op._backward(ctx, *seeds), None)


class _Transformed(torch.autograd.Function):
    """The same under the transforms of `torch.func`, which want it in another form: to run it on tensors in batches."""

    generate_vmap_rule = True

    @staticmethod
    def forward(*inputs: Any) -> Any:
        *arguments, op = inputs
        return op.overload(*arguments)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        *arguments, ctx.op = inputs
        ctx.op._save(ctx, arguments, output)

    @staticmethod
    def backward(ctx: Any, *seeds: Any) -> tuple[Any, ...]:
        return (*ctx.op._backward(ctx, *seeds), None)


def _restored(kernel: Any, name: str, gradient: Literal["derived", "refused", "second"], on_cpu: OnCpu) -> Operator:
    """An operator that was pickled: the one there is, of the same text; of another one's name with a number."""
    same = _known.get(name)
    if same is not None and (same.gradient, same.on_cpu) == (gradient, on_cpu) and same.kernel == kernel:
        return same
    try:
        return Operator(kernel, name, gradient, on_cpu)
    except BadOperator:
        return Operator(kernel, f"{name}_restored{next(_numbers)}", gradient, on_cpu)


def _registered(op: Operator) -> torch.library.Library:
    """The operator in torch.library; it stays as long as the result.

    Raises
    ------
    BadOperator : torch refuses the name, or has it already.
    """
    namespace, _, word = op.name.partition("::")
    takes = ", ".join(f"{'Tensor' if t.dims else 'float'} {t.name}" for t in op.graph.arguments)
    gives = "Tensor" if op._single else f"({', '.join('Tensor' for _ in op.graph.outputs)})"
    try:
        library = torch.library.Library(namespace, "FRAGMENT")
        library.define(f"{word}({takes}) -> {gives}", tags=(torch.Tag.pt2_compliant_tag,))
        for key in ("CPU", "CUDA"):
            library.impl(word, op._implemented, key)
    except (RuntimeError, ValueError) as wrong:
        text = str(wrong).strip().splitlines()[0][:200]
        raise BadOperator(f"torch doesn't take the operator {op.name}: {text}", hint="another name") from wrong
    torch.library.register_fake(op.name, op._fake, lib=library)
    torch.library.register_autograd(op.name, op._backward, setup_context=op._save, lib=library)
    return library


def _asked(home: Any, name: str, otherwise: int) -> Callable[[], int]:
    """What torch keeps for itself, or an answer in a version of torch that doesn't."""
    return getattr(home, name, lambda: otherwise)


_modes = _asked(torch._C, "_len_torch_dispatch_stack", 1)
_transforms = _asked(torch._C, "_are_functorch_transforms_active", 0)
_profiled = _asked(torch._C._autograd, "_profiler_enabled", 0)


def _watched() -> bool:
    """Whether somebody wants to see operators: modes, as of fake tensors and functional ones, or the profiler."""
    return bool(_modes() or _profiled())
