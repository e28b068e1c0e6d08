"""A timing loop around a kernel with its arguments bound beforehand."""

import numpy as np

import polyvolta as pv
from polyvolta.cuda.run.launch import gpu_available

M, N, K = pv.sizes("M N K")
kernel = pv.compile(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col"))
print(kernel.launch_config(M=1024, N=1024, K=1024))

if gpu_available():
    from numba import cuda

    a, b = np.ones((1024, 1024), np.float16), np.ones((1024, 1024), np.float16, order="F")
    c, stream = cuda.device_array((1024, 1024), np.float16), cuda.stream()
    launch = kernel.bind(cuda.to_device(a), cuda.to_device(b), out=c, stream=stream)
    launch()  # compiled, loaded and warm
    start, end = cuda.event(), cuda.event()
    start.record(stream)
    for _ in range(100):
        launch()
    end.record(stream)
    end.synchronize()
    print(f"{cuda.event_elapsed_time(start, end) / 100:.3f} ms a run")
