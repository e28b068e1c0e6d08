"""The paper's evaluation on the GPU at hand: four computations, a hundred sizes, beside the library.

    benchmarks   what is computed, and what the paper reports of it
    choices      which tilings are tried: the model's first choice, a budget of its best, the whole space
    ahead        kernels compiled on all cores before anything is timed
    library      what torch does instead, and the clock for both sides
    course       size after size, one row for each benchmark
    records      these rows as a CSV file, which a later run continues
    tables       geometric means, least ratios, how many are below 1
    figures      speed-ups, sorted, and the roofline, as PNG and SVG

Timing needs a GPU and torch. Tables and figures are made of a CSV file alone, anywhere.
"""
