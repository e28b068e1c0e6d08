"""What `polyvolta.torch` says where torch isn't installed."""

import pytest

import polyvolta.torch
from polyvolta.torch import errors


def test_torch_is_asked_for_by_name(monkeypatch):
    monkeypatch.setattr(polyvolta.torch, "find_spec", lambda name: None)
    monkeypatch.delitem(vars(polyvolta.torch), "operator", raising=False)
    with pytest.raises(errors.NoTorch, match=r"(?s)operator needs torch.*pip install 'polyvolta\[torch\]'"):
        polyvolta.torch.operator  # noqa: B018
    assert polyvolta.torch.NoGradient is errors.NoGradient and "from_module" in dir(polyvolta.torch)
    with pytest.raises(AttributeError):
        polyvolta.torch.compile  # noqa: B018
