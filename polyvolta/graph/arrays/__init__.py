"""What other libraries have for data: arrays in host memory, read where they lie, and data frames of reports.

    dlpack    DLPack's structure, from the capsule that an array's library hands out
    host      numpy's view of such an array, and results as arrays of its library
    frames    data frames of pandas
"""
