"""How things show themselves: in notebooks as HTML, on a terminal as text that fits.

The lowest floor: plain functions from texts to HTML, which know nothing of what is shown. Every floor above says what
there is to see of its own objects, in a few of these: a block of text, a table, facts, a fold, steps.

    shown       the class that what can be shown derives from
    fragment    a text that is HTML
    page        fragments of HTML, and the frame with its style sheet around them
    style       the style sheet
    code        texts that are programs: still a `str`, highlighted
    drawing     graphs of boxes and arrows, and pictures that scale
    formulas    mathematics, as MathML and as LaTeX
    text        lines that fit a terminal
    widgets     a slider, where a notebook has any

There are no scripts, so that notebooks look alike live, trusted or not, exported by nbconvert and as files of a site.
What folds is `<details>`, what steps are radio buttons. Colours are mixed with the page's own colour of text, so that
they suit a light and a dark page alike, whoever made it dark. Where a style sheet is taken away, as GitHub does, what
is left are tables, folds and blocks of monospaced text, with their indentation.
"""
