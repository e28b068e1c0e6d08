"""An MLP that runs on kernels, forward and backward, trained for 100 steps to be like a wave of a random product.

The weights are of fp32; kernels multiply fp16. Without a GPU it is a small one, by the kernels' reference.
"""

import torch

from polyvolta.torch import from_module

device = "cuda" if torch.cuda.is_available() else "cpu"
rows, width = (4096, 512) if device == "cuda" else (256, 32)
torch.manual_seed(0)
mlp = torch.nn.Sequential(torch.nn.Linear(8, width), torch.nn.SiLU(), torch.nn.Linear(width, width), torch.nn.GELU(),
                          torch.nn.Linear(width, 8)).to(device)  # fmt: skip
ours = from_module(mlp, dtype=torch.float16, on_cpu="reference")
print(ours)

x = torch.randn(rows, 8, device=device)
wanted = torch.sin(x @ torch.randn(8, 8, device=device) / 3)
optimizer = torch.optim.Adam(ours.parameters(), lr=3e-3)
for step in range(100):
    loss = (ours(x).float() - wanted).square().mean()
    optimizer.zero_grad()
    (1024 * loss).backward()  # fp16 gradients: scaled, so that small ones don't vanish
    for p in ours.parameters():
        p.grad /= 1024
    optimizer.step()
    if step % 33 == 0:
        print(f"step {step:2}: loss {loss.item():.4f}")
