"""Hypothesis: no deadlines, since machines differ; in CI the same examples in every run. No cache outside of tests.

Kernels for which a test names no target are sm_70's, whatever GPU is there.

Tests with many parameters whose every case takes long are sampled: of those listed in `SAMPLED` one case in n runs, and
each value of a parameter that has few (`tests.sampled`); with `--whole` all of them. Random tests draw a twelfth of
the examples that they name; POLYVOLTA_EXAMPLES=2 asks for twice as many as they name (`sets.brute`).

What is there once tests are collected, some hundred thousand objects, stays to the end: Python's search for garbage is
off until then, never looks at them later, and begins less often than by default.
"""

import gc
import os
from collections import Counter, defaultdict
from collections.abc import Generator
from contextlib import suppress

import pytest
from hypothesis import settings

from polyvolta.cuda import arch
from tests.sampled import same, sample

arch._driver = lambda: None
gc.disable()  # until everything is collected

with suppress(ImportError):  # it would read all modules of ours for numbers to try, 3 to 8 s in each process
    from hypothesis.internal.conjecture import providers

    providers.is_local_module_file = lambda path: False
settings.register_profile("polyvolta", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("polyvolta")
os.environ.pop("COLUMNS", None)  # texts are whole where no terminal is printed to
os.environ.setdefault("POLYVOLTA_CACHE_SIZE", "0")  # tests of the cache itself switch it on in folders of their own

collect_ignore = ["types/programs"]  # which a checker reads, and nobody imports

SAMPLED = {
    "cuda/mutants/test_rings.py": 30,
    "cuda/verify/order/test_tiles.py": 25,
    "cuda/verify/order/test_roles.py": 24,
    "cuda/verify/order/test_happens_before.py": 8,
    "cuda/verify/order/test_random_rings.py": 12,
    "cuda/verify/test_verify.py": 40,
    "cuda/verify/engine/test_rings.py": 24,
    "cuda/verify/engine/test_strands.py": 24,
    "cuda/verify/accesses/test_bounds.py": 16,
    "cuda/verify/values/test_contents.py": 36,
    "cuda/verify/values/test_contents_refuted.py": 16,
    "cuda/verify/values/test_algebra.py": 16,
    "cuda/machine/test_persistent.py": 30,
    "cuda/text/test_pointwise_text.py": 20,
    "cuda/text/test_persistent_text.py": 20,
    "cuda/text/test_hopper_text.py": 16,
    "cuda/text/test_transfers_text.py": 16,
    "cuda/text/test_golden_texts.py": 8,
    "cuda/text/test_kernel_text.py": 20,
    "cuda/build/promotion/test_boxed_epilogue.py": 32,
    "compiler/test_swap.py": 60,
    "compiler/test_swap.py::test_mutants_are_refuted": 15,
    "compiler/test_clusters.py": 35,
    "compiler/test_options_of_warpgroups.py": 30,
    "sched/loops/test_scan_passes.py": 24,
    "sched/test_polybench.py": 16,
    "sched/test_processor.py": 16,
    "cuda/machine/observe/test_observe_roles.py": 30,
    "compiler/test_boxed_launches.py": 25,
    "cuda/host/test_gpu.py": 30,
    "cuda/mutants/test_engines.py": 15,
    "cuda/verify/accesses/test_races.py": 10,
    "cuda/host/test_hopper_on_host.py": 16,
    "cuda/verify/order/test_turns.py": 20,
    "compiler/test_split_over_cluster.py": 10,
    "compiler/test_lasting_clusters.py": 20,
    "cuda/build/test_async_rings.py": 60,
    "compiler/test_mixed_loops.py": 60,
    "compiler/test_whole_pieces.py": 16,
    "cuda/host/test_kernels_on_host.py": 48,
    "cuda/host/test_broken_kernels.py": 16,
    "cuda/text/test_printed_body.py": 16,
    "cuda/text/test_names.py": 12,
    "cuda/layouts/test_matrix_fragments.py": 48,
    "cuda/target/test_widths.py": 8,
    "cuda/verify/engine/test_fills.py": 16,
    "cuda/machine/test_copies.py": 16,
    "cuda/mutants/test_mutants.py": 24,
    "cuda/mutants/test_boxes.py": 20,
    "cuda/build/test_rings.py": 48,
    "cuda/build/promotion/test_operands.py": 30,
    "cuda/build/promotion/test_levels.py": 24,
    "cuda/build/promotion/test_direct_stores.py": 8,
    "cuda/host/test_bfloat16_on_host.py": 6,
    "compiler/test_kernel.py::test_users_may_name_things_as_parts_of_the_kernel_are": 8,
    "compiler/test_options_of_targets.py::test_what_fits_alone_and_not_eight_times_is_refused_for_that_reason": 10,
    "compiler/test_bfloat16.py": 32,
    "compiler/test_prologues_of_warpgroups.py": 40,
    "compiler/test_shared_loops.py": 32,
    "compiler/test_dependent_launch.py": 8,
    "compiler/variants/test_decisions.py": 8,
    "compiler/model/test_ranking.py": 7,
    "cuda/machine/test_roles.py": 32,
    "cuda/machine/test_engines.py": 4,
    "cuda/machine/test_interpreter_sizes.py": 8,
    "cuda/host/test_prologues_on_host.py": 12,
    "cuda/verify/report/test_report.py": 4,
    "sched/scheduler/test_rows.py": 2,
    "sched/loops/test_scan_turns.py": 8,
    "sched/loops/test_unrolled.py": 4,
    "sched/loops/test_history.py::test_loops_of_many_trees_are_the_same_in_any_order": 3,
    "sched/loops/test_scan_bounds.py::test_bounds_of_many_remainders_leave_no_loop_that_finds_nothing": 3,
    "sets/operations/test_differ.py": 4,
    "sets/operations/test_closure.py::test_a_closure_that_is_said_to_be_exact_is_what_a_search_finds": 4,
    "sets/optima/test_unions.py": 4,
    "sets/rationals/test_vertices.py": 6,
    "sets/operations/test_inverse_digits.py": 10,
    "sets/operations/test_bounds_beside_digits.py": 4,
    "sets/optima/test_back_substitution.py": 4,
    "sets/optima/test_remainders.py": 3,
    "sched/by_isl/test_functions_in_c.py": 3,
    "sched/scheduler/test_problem.py::test_no_small_row_costs_less": 3,
    "sets/test_existentials.py::test_boxes": 3,
    "sets/test_budgets.py::test_parametric_cuts": 3,
    "sets/hulls/test_boxes.py": 3,
    "sets/hulls/test_parting.py": 3,
    "sets/hulls/test_between.py": 2,
    "sets/hulls/test_fused.py": 3,
    "sets/functions/test_within.py": 2,
    "sets/counting/test_bounds.py::test_random_polynomials": 3,
    "sets/operations/test_project_nested.py": 3,
    "sched/by_isl/test_leaves.py": 3,
    "sched/passes/test_contract.py::test_contraction_is_refused_exactly_when_two_tiles_would_run_in_the_wrong_order": 4,
    "sched/program/test_from_c.py::test_what_is_printed_in_c_is_read_again": 5,
    "test_matrix.py::test_interpreted_for_hopper": 20,
    "cli/test_cli.py::test_a_full_disk_is_one_line_and_exit_code_1": 10,
    "cli/test_cli.py::test_nobody_reads_on": 4,
    "test_matrix.py::test_the_default_rule_chooses_nothing_that_spills": 10,
    "test_matrix.py::test_interpreted_on_sizes_that_nothing_divides": 12,
    "test_matrix.py::test_interpreted_for_later_chips": 48,
    "test_matrix.py::test_observers_find_nothing_whenever_copies_arrive": 8,
    "test_matrix.py::test_machine_code": 24,
    "test_provable.py::test_what_changes_nothing_is_no_obstacle": 16,
    "torch/test_operator.py::test_results_and_gradients": 2,
    "torch/test_modules.py::test_results_and_gradients_are_the_modules": 2,
    "test_provable.py::test_random_kernels_are_proved": 12,
    "test_matrix.py::test_interpreted_on_random_sizes": 24,
    "compiler/test_compiler.py::test_kernels_compute_what_numpy_computes": 40,
    "cuda/verify/coverage/test_written_once.py": 12,
    "cuda/verify/coverage/test_static_schedule.py::test_every_idiom_is_proved": 20,
    "cuda/verify/accesses/test_static_accesses.py::test_every_idiom_is_proved": 20,
    "cuda/build/promotion/test_result.py": 24,
    "cuda/text/test_device_functions.py": 24,
    "cuda/layouts/test_fragments.py::test_every_tile_has_a_plan_without_conflicts": 16,
    "compiler/test_options.py::test_defaults_are_legal_and_leave_registers": 4,
    "cuda/verify/engine/test_symbolic_programs.py": 8,
    "cli/test_names.py": 4,
    "notebooks/test_notebooks.py::test_cells_and_solutions_on_proofs_run": 2,
    "cuda/text/test_golden_texts.py::test_it_compiles_for_its_target_without_spills": 48,
    "cuda/verify/order/test_tiles.py::test_nothing_is_proved_that_a_graph_of_instances_refutes": 20,
    "cuda/verify/test_static_matrix.py": 24,
    "cuda/verify/test_whole_kernels.py": 16,
    "cuda/verify/values/test_narrowed.py": 16,
    "cuda/verify/values/test_matrix_loads.py": 8,
    "cuda/verify/values/test_static_ownership.py::test_every_idiom_is_proved": 12,
    "cuda/verify/coverage/test_copies.py": 8,
    "compiler/test_options.py::test_limits_are_told_of_what_kernels_really_take": 12,
    "compiler/test_options.py::test_kernels_of_options_given_in_part_are_legal_and_have_all_options": 24,
    "sets/text/test_notation.py::test_what_isl_reads_and_prints_is_read_here": 6,
    "sets/text/test_notation.py::test_what_is_printed_here_reads_back": 4,
    "sets/test_budgets.py::test_twenty_knotted_existentials": 4,
    "test_matrix.py::test_views_at_any_address": 6,
    "test_matrix.py::test_views_at_any_address_for_later_chips": 6,
    "cuda/verify/test_verify.py::test_no_alarm_on_a_sample_of_the_matrix": 12,
    "cuda/text/test_pointwise_text.py::test_a_function_of_every_fp16_value": 50,
    "cuda/layouts/test_exchange.py": 16,
    "cuda/host/test_clusters_on_host.py": 10,
    "cuda/machine/observe/test_observations.py": 16,
    "cuda/machine/observe/test_observe_values.py": 8,
    "cuda/machine/test_stepping_roles.py": 8,
    "cuda/test_numba_helpers.py": 8,
    "cuda/machine/observe/test_forecast.py": 12,
    "cuda/machine/test_stepping.py": 10,
    "cuda/machine/test_persistent.py::test_results_that_threads_store": 4,
    "cuda/host/test_engines_on_host.py": 8,
    "cuda/machine/test_interpreter.py": 10,
    "cuda/verify/engine/test_symbolic.py": 8,
    "cuda/pictures/test_banks.py": 12,
    "cuda/target/test_macro_mma.py": 8,
    "cli/test_drawing.py": 4,
    "compiler/test_options_of_targets.py::test_launch_bounds_say_how_many_blocks_share": 4,
    "cuda/machine/observe/test_observe_clusters.py": 4,
    "sets/engine/test_strips.py::test_every_solution_has_these_forms": 8,
    "sets/optima/test_nested.py": 6,
    "sets/optima/test_by_enumeration.py": 8,
    "sched/program/test_from_c.py::test_numbers_are_those_of_the_c_compiler": 3,
    "cli/test_cli.py::test_run": 3,
    "sets/layouts/test_layout.py::test_ownership_maps": 3,
    "cli/test_cli.py::test_what_people_read_fits_a_terminal_of_60_columns": 3,
    "test_matrix.py::test_interpreted_in_clusters_and_in_turns": 4,
    "graph/test_large.py::test_kernels": 2,
    "compiler/test_kernel.py::test_special_values_go_through_prologue_and_product_as_in_numpy": 6,
    "sched/passes/test_flatten.py::test_fences_of_a_period_are_judged_as_by_running": 6,
    "cuda/target/test_instruction.py::test_macro_mmas_of_the_package_multiply_matrices": 4,
    "cuda/build/promotion/test_result_tree.py::test_promoted_trees_are_schedules": 4,
    "sched/loops/test_scan_digits.py::test_digits_of_a_parameter_are_its_quotients_and_remainders": 3,
    "cli/test_cli.py::test_run_in_bf16": 2,
    "cli/test_cli.py::test_a_reader_that_leaves_early_is_no_failure": 2,
    "compiler/test_options.py::test_what_is_not_given_is_chosen_for_every_idiom_and_layout": 6,
    "cuda/verify/values/test_layouts.py::test_what_boxes_bring_is_what_products_read": 6,
    "cuda/verify/engine/test_addresses.py::test_both_judges_go_to_the_same_places": 6,
    "sets/hulls/test_coalesce.py": 4,
    "compiler/test_clusters.py::test_mutants_are_refuted": 17,
    "compiler/test_dependent_launch.py::test_late_waits_are_refuted_and_refused": 4,
    "compiler/test_lasting_clusters.py::test_mutants_are_refuted_and_seen": 8,
    "compiler/test_prologues_of_warpgroups.py::test_mutants_are_refuted": 16,
    "compiler/test_prologues_of_warpgroups.py::test_mutants_are_seen_in_some_run": 16,
    "cuda/host/test_clusters_on_host.py::test_defects_of_clusters_are_seen": 4,
    "cuda/host/test_engines_on_host.py::test_barriers_that_are_used_wrongly": 4,
    "cuda/host/test_engines_on_host.py::test_barriers_by_number_that_are_wrong": 4,
    "cuda/host/test_gpu.py::test_copies_that_are_wrong": 12,
    "cuda/machine/test_roles.py::test_broken_kernels_are_seen": 16,
    "cuda/verify/coverage/test_copies.py::test_broken_copies": 4,
    "cuda/host/test_kernels_on_host.py::test_sizes_that_nothing_divides_at_any_address": 5,
    "compiler/test_options.py::test_members_of_the_space_compile": 4,
    "cuda/run/test_arch.py::test_code_is_compiled_for_the_gpu_at_hand": 2,
    "cuda/run/test_nvrtc.py::test_registers_agree_with_the_assembler": 4,
    "cuda/target/test_instruction.py::test_macro_mmas_of_ampere_multiply_matrices": 3,
    "cuda/text/test_pointers.py::test_start_steps_and_rest_are_the_index": 4,
    "test_matrix.py::test_a_name_of_hopper_s_says_the_kernel": 4,
    "evaluation/test_programs.py::test_listed_choices_are_complete_and_legal": 12,
    "compiler/test_mixed_loops.py::test_whenever_copies_arrive_the_sum_is_right": 108,
    "cli/test_cli.py::test_bad_input_is_an_error_and_exit_code_2": 4,
    "sched/dependence/test_dependences.py::test_dependences_of_a_nest_are_those_of_its_memory": 3,
    "sched/program/test_nest.py::test_a_nest_is_what_python_runs": 4,
    "sched/loops/test_scan_counts.py::test_loops_test_no_more_than_they_need": 4,
    "sets/operations/test_closure.py::test_an_exact_closure": 3,
    "sets/operations/test_closure.py::test_powers_of_counters": 3,
    "cuda/text/test_result_text.py::test_values_are_where_accumulators_are": 4,
}
"""File, or one test of it -> of how many cases one runs, if not more; a test's own number goes before its file's."""
WHOLE = {
    "compiler/test_options_of_targets.py::test_prologues_get_tiles_with_which_nothing_spills":
        "test_matrix.py::test_the_default_rule_chooses_nothing_that_spills",
    "compiler/test_options_of_targets.py::test_copies_and_matrices_that_lie_across_spill_nothing":
        "test_matrix.py::test_the_default_rule_chooses_nothing_that_spills",
    "compiler/test_options_of_targets.py::test_the_compiler_gives_each_block_its_part_of_the_registers":
        "compiler/test_options_of_targets.py::test_launch_bounds_say_how_many_blocks_share",
    "compiler/test_clusters.py::test_everything_is_proved_of_a_swapped_one":
        "compiler/test_swap.py::test_proofs_hold",
    "compiler/test_split_over_cluster.py::test_everything_is_proved_of_a_swapped_one":
        "compiler/test_split_over_cluster.py::test_everything_is_proved",
    "compiler/variants/test_varied_kernel.py::test_the_choice_over_a_range_is_the_best_of_all_candidates_there":
        "compiler/variants/test_search.py::test_boxes_share_out_the_points_and_take_what_is_best_for_each",
    "cuda/text/test_names.py::test_no_word_of_the_compilers_headers_is_in_the_way":
        "cuda/text/test_names.py::test_every_identifier_is_a_users_too",
    "cuda/verify/order/test_happens_before.py::test_three_products_with_long_rings_of_whole_tiles":
        "cuda/verify/order/test_happens_before.py::test_rings_of_every_length_are_proved_for_any_number_of_tiles",
    "cuda/host/test_bfloat16_on_host.py::test_every_pattern_goes_through_a_prologue_and_back":
        "cuda/host/test_bfloat16_on_host.py::test_the_text_computes_what_the_interpreter_does",
    "cuda/verify/order/test_turns.py::test_all_that_is_said_of_a_kernel_is_proved":
        "test_readme.py::test_python_blocks_run_and_print_what_stands_below_them",
}  # fmt: skip
"""A test that runs with `--whole` alone -> the test, or one of them, that sees the same code run otherwise."""
LONG = ("test_readme.py", "types/", "test_provable.py", "sched/scheduler/test_random_nests.py")
"""Whose single tests take longest: they begin, so that no process is left with one of them at the end."""

Report = pytest.CollectReport


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--whole", action="store_true", help="all cases of tests that are otherwise sampled")


def pytest_configure(config: pytest.Config) -> None:
    """What parallel processes of this run share lies beside their temporary folders."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        os.environ["TESTS_OF_A_RUN"] = os.path.dirname(config.option.basetemp)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Report, Report]:
    """Of parallel processes every second one imports from the end: each finds byte code of half of the files there."""
    report = yield
    if isinstance(collector, pytest.Directory) and int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % 2:
        report.result.reverse()
    return report


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Long tests first; a sample of the cases of tests in sampled files (`tests.sampled`), and none of `WHOLE`."""
    if "PYTEST_XDIST_WORKER" in os.environ:  # one order in all processes
        items.sort(key=lambda item: (item.nodeid.partition("::")[0], isinstance(item, pytest.Function)))
    items.sort(key=lambda item: not item.nodeid.partition("tests/")[2].startswith(LONG))
    if config.getoption("--whole"):
        return
    tests: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        tests[item.nodeid.partition("[")[0]].append(item)
    gone, sampled, had = set(), [], defaultdict(Counter)
    for test, cases in tests.items():
        file, _, function = test.partition("tests/")[2].partition("::")
        step = SAMPLED.get(f"{file}::{function}", SAMPLED.get(file, 1))
        if f"{file}::{function}" in WHOLE:
            gone |= {case.nodeid for case in cases}
        elif step > 1 and len(cases) > 1:
            sampled.append((file, step, cases))
    for file, step, cases in sorted(sampled, key=lambda test: test[1] / len(test[2])):  # those of which most run first
        params = [{name: same(value) for name, value in case.callspec.params.items()} for case in cases]
        kept = sample(params, step, had[file])
        gone |= {case.nodeid for place, case in enumerate(cases) if place not in kept}
    if gone:
        left = [item for item in items if item.nodeid in gone]
        items[:] = [item for item in items if item.nodeid not in gone]
        config.hook.pytest_deselected(items=left)


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(500_000, 20, 20)
    gc.enable()
