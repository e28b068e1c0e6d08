"""Schedule constraints as isl writes them: the same schedule as of the arguments, and mistakes with their places."""

import pytest

from polyvolta.sched import schedule
from polyvolta.sched.errors import BadProgram, BadSchedule, TreeSyntaxError
from polyvolta.sched.scheduler.texts import arguments_of
from polyvolta.sets import Map, Set, SetSyntaxError

DOMAIN = "[N] -> { S[i] : 0 <= i < N; T[i] : 0 <= i < N }"
FLOW = "{ S[i] -> T[1 + i] }"


@pytest.mark.parametrize("text", [
    f'{{ domain: "{DOMAIN}", context: "[N] -> {{  : N >= 4 }}", validity: "{FLOW}", proximity: "{FLOW}" }}',
    f'domain: "{DOMAIN}"\ncontext: "[N] -> {{ : N > 3 }}"\nvalidity: "{FLOW}"\nproximity: "{FLOW}"\n',
    f"domain: {DOMAIN}\n'context': '[N] -> {{ : N > 3 }}'\nvalidity: {FLOW}\nproximity: {FLOW}",
])  # fmt: skip
def test_a_text_is_its_arguments(text):
    expected = schedule(Set(DOMAIN), validity=Map(FLOW), proximity=Map(FLOW), context=Set("[N] -> { : N > 3 }"))
    assert schedule(text) == expected and [m.coincident for m in schedule(text).band((0, 0)).members] == [True]


def test_a_file_of_isl_has_comments_and_texts_of_several_lines():
    text = f"""# Check this.
  # And that.
domain: [N] -> {{ S[i] :
0 <= i < N; T[i] : 0 <= i
   and i < N }}
validity: {FLOW}
proximity: {{ S[i]
-> T[1 + i] }}
"""
    assert schedule(text) == schedule(Set(DOMAIN), validity=Map(FLOW), proximity=Map(FLOW))
    with pytest.raises(TreeSyntaxError, match="line 3: vality"):
        schedule(f"# Check this.\ndomain: {DOMAIN}\nvality: {FLOW}")


def test_keys_of_isl_and_their_arguments():
    keys = ("validity", "coincidence", "condition", "conditional_validity", "proximity")
    found = arguments_of(f'{{ domain: "{DOMAIN}", ' + ", ".join(f'{k}: "{FLOW}"' for k in keys) + " }")
    assert found.pop("program").is_equal(Set(DOMAIN)) and all(m.is_equal(Map(FLOW)) for m in found.values())
    wanted = {"validity", "coincidence", "conditional_validity_condition", "conditional_validity", "proximity"}
    assert {*found} == wanted


@pytest.mark.parametrize(("text", "error", "said"), [
    ('{ domain: "{ S[i] }", validty: "{ }" }', TreeSyntaxError, "unknown key 'validty'(.|\n)*did you mean 'validity'"),
    ('{ domain: "{ S[i] }", domain: "{ S[i] }" }', TreeSyntaxError, "a second key 'domain'"),
    ('{ domain: "{ S[i] }", and so on }', TreeSyntaxError, "expected 'key: \"value\"'"),
    ('{ domain: "{ S[i }" }', SetSyntaxError, "expected ',' or ']'"),
    ('{ domain: "{ S[i]; S[i, j] }" }', BadSchedule, "a second statement is called S"),
    (Set("{ [i] : 0 <= i <= 9; S[i] }"), BadSchedule, r"the tuple \[i\] has no name"),
    ("def f(A): pass", BadProgram, "what is scheduled is a Program, or a Set of instances"),
])  # fmt: skip
def test_mistakes(text, error, said):
    with pytest.raises(error, match=said):
        schedule(text)
