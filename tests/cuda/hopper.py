"""What Hopper's hardware does with shared memory, by the manual, on numpy: nothing here asks the package.

Shared memory is a numpy array of 16-bit values; addresses are in bytes.
"""

import numpy as np

BYTES = 232448
PATTERN = {0: 0, 32: 1, 64: 3, 128: 7}  # which bits from 7 on of an address flip those from 4 on
MODE = {0: 0, 1: 128, 2: 64, 3: 32}  # of a matrix descriptor


def memory():
    return np.full(BYTES // 2, 0xFFFF, np.uint16)


def swizzled(address, width):
    """A byte's address under a swizzle of 128, 64, 32 or 0 bytes: cuTensorMapEncodeTiled's and wgmma's."""
    return address ^ ((address >> 7 & PATTERN[width]) << 4)


def box_addresses(lines, run, width, start):
    """[line, value]: byte addresses of a box in shared memory."""
    plain = start + 2 * (run * np.arange(lines)[:, None] + np.arange(run)[None, :])
    return swizzled(plain, width)


def copy_in(shared, tensor, at, lines, run, width, start):
    """A TMA copy of a box at (line, value) of a tensor; beyond it come zeros."""
    padded = np.zeros((at[0] + lines, at[1] + run), np.uint16)
    inside = tensor[: at[0] + lines, : at[1] + run]
    padded[: inside.shape[0], : inside.shape[1]] = inside
    shared[box_addresses(lines, run, width, start) // 2] = padded[at[0] :, at[1] :]


def copy_out(shared, tensor, at, lines, run, width, start):
    """A TMA store of a box to (line, value) of a tensor."""
    tensor[at[0] : at[0] + lines, at[1] : at[1] + run] = shared[box_addresses(lines, run, width, start) // 2]


def operand(shared, descriptor, transposed, extent):
    """[row or column, k]: the 16-bit values of a wgmma operand of `extent` x 16.

    The manual's strides, in bytes, of 16-byte units. K-major swizzled: rows are as long as the swizzle is wide, eight
    of them `stride` before the next eight. K-major not swizzled: eight rows of 16 bytes, the second unit of k `leading`
    on. MN-major swizzled: lines along mn, one for each k, eight of them `stride` before the next eight, and the next
    piece of mn `leading` on. MN-major not swizzled: units of eight mn, eight k of 16 bytes; the next eight mn are
    `stride` on, the next eight k `leading`.
    """
    start, leading, stride = ((descriptor >> low & 0x3FFF) << 4 for low in (0, 16, 32))
    assert descriptor >> 49 & 7 == 0
    width = MODE[descriptor >> 62]
    x, k = np.arange(extent)[:, None], np.arange(16)[None, :]
    if not transposed and width:
        plain = (x >> 3) * stride + (x & 7) * width + 2 * k
    elif not transposed:
        plain = (x >> 3) * stride + (x & 7) * 16 + (k >> 3) * leading + 2 * (k & 7)
    elif width:
        piece, within = np.divmod(2 * x, width)
        plain = piece * leading + within + (k >> 3) * stride + (k & 7) * width
    else:
        plain = (x >> 3) * stride + 2 * (x & 7) + (k >> 3) * leading + (k & 7) * 16
    return shared[swizzled(start + plain, width) // 2]


def stmatrix(shared, addresses, registers, count, transposed):
    """Eight lanes name the rows of each 8x8 matrix; thread t has elements 2(t mod 4) and the next of row (column) t/4.

    Parameters
    ----------
    addresses : [lane], bytes.
    registers : [lane, value], 2 * count values of each lane.
    """
    for matrix in range(count):
        for lane in range(32):
            for half in range(2):
                row, col = lane >> 2, 2 * (lane & 3) + half
                if transposed:
                    row, col = col, row
                shared[addresses[8 * matrix + row] // 2 + col] = registers[lane][2 * matrix + half]


def degree(addresses):
    """How many of eight 16-byte addresses meet in the same banks."""
    return max(np.bincount([a // 16 % 8 for a in addresses]))
