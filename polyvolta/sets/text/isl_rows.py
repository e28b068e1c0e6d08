"""isl's methods that are called otherwise here, by isl's name: the rows of the tables in docs/isl.md.

They are those without its backquotes; a test holds them to these. `*` stands for the rest of a name.
"""

ROWS = {
    "": (
        (
            "copy dump get_ctx reset_user alloc empty_ctx zero_ctx",
            "not here: values are immutable and belong to no context",
        ),
        (
            "read_from_str to_str",
            "the constructor, str(x); a context given to read_from_str means nothing",
        ),
        (
            "plain_is_equal plain_cmp",
            "==, structural and cheap; no order",
        ),
        (
            "get_space get_domain_space get_local_space get_domain_local_space",
            "Set.space, Map.space, PwAff.space; a union has several, Set.parts",
        ),
        (
            "dim n_dim n_param total_dim tuple_dim domain_tuple_dim range_tuple_dim",
            "len(s.dims()), Space.n_in, Space.n_out, len(s.param_names)",
        ),
        (
            "get_dim_name get_var_names get_var_names_not_none get_var_dict get_var_ids get_dim_id get_id_dict "
            "has_dim_name has_dim_id find_dim_by_name find_dim_by_id",
            "Set.dims, Set.param_names: names, no ids",
        ),
        (
            "get_tuple_name get_tuple_id has_tuple_name has_tuple_id get_domain_tuple_id get_range_tuple_id "
            "has_domain_tuple_id has_range_tuple_id",
            "Set.tuple_names, Space.out, Space.inp and their name",
        ),
        (
            "set_tuple_name set_tuple_id reset_tuple_id set_domain_tuple_id set_range_tuple_id reset_range_tuple_id",
            "Set.rename, Map.rename_domain, Map.rename_range",
        ),
        (
            "set_dim_name set_dim_id",
            "Set.rename_dims, Set.rename_params",
        ),
        (
            "drop_dims remove_dims remove_inputs drop_unused_params",
            "Set.project_out, Set.project_out_param; a parameter without a constraint may stay",
        ),
        (
            "has_equal_space reset_space reset_domain_space",
            "== of spaces; another space is made by rename, move_dims, unwrap",
        ),
        (
            "involves_dims involves_locals involves_param_id involves_param_id_list",
            "not here: equal objects that differ in what they mention are the same value",
        ),
        (
            "to_list get_div",
            "not here: Python's lists; divs are no property of a value",
        ),
        (
            "project_out_except eliminate_except",
            "Set.project_onto",
        ),
        (
            "add_dims insert_dims move_dims insert_domain split_dims",
            "Set.add_dims, Set.insert_dims, Set.move_dims of sets and relations",
        ),
        (
            "unbind_params* bind*",
            "Set.move_dims goes between parameters and dimensions",
        ),
    ),
    "Set": (
        (
            "project_out_param_id project_out_param_id_list",
            "Set.project_out_param",
        ),
        (
            "fix_val fix_dim_si",
            "Set.fix, by name or position",
        ),
        (
            "lower_bound_val upper_bound_val",
            "Set.lower_bound, Set.upper_bound, with an expression if need be",
        ),
        (
            "lower_bound_multi_* upper_bound_multi_*",
            "the same, a dimension at a time",
        ),
        (
            "eliminate_dims",
            "Set.eliminate",
        ),
        (
            "neg",
            "Set.apply with { [i] -> [-i] }",
        ),
        (
            "drop_constraints_involving_dims drop_constraints_not_involving_dims",
            "Set.drop_constraints_involving",
        ),
        (
            "remove_divs* remove_unknown_divs compute_divs align_divs",
            "Set.known_divs; divs are no property of a value here",
        ),
        (
            "dim_max_val dim_min_val max_val min_val max_multi_pw_aff min_multi_pw_aff min_multi_union_pw_aff",
            "Set.dim_max, Set.dim_min, Set.max, Set.min: functions of the parameters",
        ),
        (
            "count_val",
            "Set.count; Set.cardinality with parameters",
        ),
        (
            "foreach_point",
            "for p in s.points(): Set.points",
        ),
        (
            "foreach_basic_set get_basic_sets get_basic_set_list n_basic_set make_disjoint",
            "Set.pieces, len(s); disjoint: each less those before it",
        ),
        (
            "foreach_set every_set get_set_list n_set extract_set isa_set as_set to_set to_union_set",
            "Set.only and Set.tuple_names; a Set is a union already",
        ),
        (
            "add_set union_disjoint sum",
            "Set.union, Set.product and Map.apply_range for sums",
        ),
        (
            "gist_basic_set",
            "Set.gist",
        ),
        (
            "plain_is_empty plain_is_universe plain_is_disjoint is_universe",
            "Set.is_empty, Set.is_disjoint, Set.is_equal",
        ),
        (
            "plain_unshifted_simple_hull bounded_simple_hull unshifted_simple_hull_from_set_list",
            "Set.unshifted_simple_hull, Set.simple_hull",
        ),
        (
            "plain_get_val_if_fixed get_plain_multi_val_if_fixed",
            "Set.is_singleton, Set.sample_point",
        ),
        (
            "get_stride get_stride_info get_lattice_tile dim_residue_class_val",
            "Set.box_hull, with strides",
        ),
        (
            "dim_is_bounded dim_has_*",
            "Set.is_bounded; of one dimension, after Set.project_onto",
        ),
        (
            "is_params",
            "a Set without a tuple, { : }, as Set.params gives",
        ),
        (
            "lex_*_union_set",
            "Set.lex_lt_set, Set.lex_le_set, Set.lex_gt_set, Set.lex_ge_set",
        ),
        (
            "follows_at compare_at",
            "Set.lex_lt_set and Set.is_subset",
        ),
        (
            "partial_lexmax* partial_lexmin*",
            "Set.lexmin or Map.lexmin, and a difference of domains for where there is none",
        ),
        (
            "as_pw_multi_aff from_multi_aff from_pw_aff from_pw_multi_aff from_multi_pw_aff",
            "MultiPwAff.as_map, Map.range",
        ),
        (
            "from_point box_from_points",
            "Set.from_points",
        ),
        (
            "empty_space nat_universe positive_orthant",
            "Set.universe, Set.empty; { [i] : i >= 0 }",
        ),
        (
            "flatten_map wrapped_domain_map",
            "Set.flatten; of a wrapped set Map.domain_map of Set.unwrap",
        ),
        (
            "translation project_onto_map identity_union_pw_multi_aff",
            "Set.identity, Map.from_affs",
        ),
        (
            "pw_aff_on_domain_val pw_multi_aff_on_domain_multi_val param_pw_aff_on_domain_id",
            "Set.indicator_function, a constant times it; PwAff.on",
        ),
        (
            "add_constraint add_constraints foreach_constraint get_constraints get_constraint_list n_constraint "
            "from_constraint from_constraint_matrices equalities_matrix inequalities_matrix foreach_bound_pair "
            "foreach_opposite_constraint_pair",
            "s & Set(text): Set.intersect; rows are no part of the interface",
        ),
        (
            "solutions",
            "RationalSet.solutions, of what Set.coefficients gives",
        ),
        (
            "compute_vertices reduced_basis",
            "not here: a set is its constraints",
        ),
        (
            "lift",
            "not here: existentials cannot become dimensions; write them as dimensions and Set.project_out",
        ),
        (
            "apply_*_fold",
            "not here: no bounds of polynomials; Set.cardinality counts",
        ),
        (
            "compute_schedule",
            "schedule(instances, validity=...)",
        ),
    ),
    "Map": (
        (
            "project_out_param_id project_out_param_id_list",
            "Map.project_out_param",
        ),
        (
            "fix_val fix_input_si",
            "Map.fix",
        ),
        (
            "lower_bound_val upper_bound_val lower_bound_si upper_bound_si lower_bound_multi_pw_aff "
            "upper_bound_multi_pw_aff",
            "Map.lower_bound, Map.upper_bound",
        ),
        (
            "equal",
            "Map.identity, Map.equate",
        ),
        (
            "less_at more_at oppose",
            "Map.order_lt, Map.order_gt, Map.equate",
        ),
        (
            "lex_*_first",
            "Map.lex_lt, Map.lex_le, Map.lex_gt, Map.lex_ge, of the first dimensions of a product",
        ),
        (
            "lex_*_union_map lex_*_at_multi_*",
            "Map.lex_lt_map, Map.lex_le_map, Map.lex_gt_map, Map.lex_ge_map",
        ),
        (
            "eq_at_multi_*",
            "Map.intersect with f.as_map() composed: Map.apply_range",
        ),
        (
            "drop_constraints_involving_dims drop_constraints_not_involving_dims",
            "Map.drop_constraints_involving",
        ),
        (
            "remove_divs* remove_unknown_divs compute_divs align_divs",
            "Map.known_divs",
        ),
        (
            "max_multi_pw_aff min_multi_pw_aff",
            "Map.dim_max, Map.dim_min",
        ),
        (
            "fixed_power_val",
            "Map.fixed_power",
        ),
        (
            "neg",
            "Map.apply_range with { [i] -> [-i] }",
        ),
        (
            "floordiv_val sum",
            "Map.apply_range with the relation of the arithmetic",
        ),
        (
            "foreach_basic_map get_basic_maps get_basic_map_list n_basic_map make_disjoint",
            "Map.pieces",
        ),
        (
            "foreach_map every_map get_map_list n_map extract_map isa_map as_map to_map to_union_map remove_map_if",
            "Map.only, Map.parts; a Map is a union already",
        ),
        (
            "add_map union_disjoint",
            "Map.union",
        ),
        (
            "gist_basic_map",
            "Map.gist",
        ),
        (
            "plain_is_empty plain_is_universe is_universe",
            "Map.is_empty, Map.is_equal",
        ),
        (
            "plain_is_injective plain_is_single_valued",
            "Map.is_injective, Map.is_single_valued",
        ),
        (
            "plain_unshifted_simple_hull unshifted_simple_hull_from_map_list",
            "Map.unshifted_simple_hull",
        ),
        (
            "plain_get_val_if_fixed has_defining_equality",
            "Map.dim_min, Map.dim_max, Map.as_affs",
        ),
        (
            "get_range_stride_info get_range_lattice_tile",
            "Map.box_hull, with strides",
        ),
        (
            "can_curry can_uncurry can_range_curry can_zip is_product",
            "Map.domain_is_wrapping, Map.range_is_wrapping",
        ),
        (
            "is_translation image_is_bounded",
            "Map.deltas and Set.is_singleton; Map.range and Set.is_bounded",
        ),
        (
            "intersect_*_space intersect_*_union_set intersect_*_wrapped_domain_union_set",
            "Map.only, Map.intersect_domain, Map.intersect_range, Map.intersect_domain_wrapped_domain, "
            "Map.intersect_range_wrapped_domain",
        ),
        (
            "partial_lexmax* partial_lexmin*",
            "Map.lexmin, and a difference of domains",
        ),
        (
            "as_multi_union_pw_aff as_union_pw_multi_aff",
            "Map.as_multi_pw_aff, Map.as_pw_multi_aff",
        ),
        (
            "from_aff* from_union_pw_aff from_union_pw_multi_aff from_multi_union_pw_aff from_qpolynomial",
            "PwAff.as_map, MultiPwAff.as_map, Map.from_affs",
        ),
        (
            "empty_space nat_universe",
            "Map.universe, Map.empty",
        ),
        (
            "domain_map_union_pw_multi_aff",
            "Map.domain_map",
        ),
        (
            "add_constraint add_constraints foreach_constraint get_constraints get_constraint_list n_constraint "
            "from_constraint from_constraint_matrices equalities_matrix inequalities_matrix",
            "m & Map(text): Map.intersect; rows are no part of the interface",
        ),
        (
            "is_rational",
            "not here: relations have integer points; of pairs there are RationalSets",
        ),
        (
            "apply_*_fold",
            "not here: no bounds of polynomials",
        ),
        (
            "compute_flow",
            "dataflow(reads, writes, order=...)",
        ),
    ),
    "PwAff": (
        (
            "add sub mul floor ceil div mod_val scale_val scale_down_val add_constant_val tdiv_q tdiv_r",
            "+, -, *, //, %, PwAff.ceildiv, PwAff.cond",
        ),
        (
            "*_map",
            "PwAff.eq_set, PwAff.ge_set and the like, of functions of one domain",
        ),
        (
            "non_zero_set nonneg_set pos_set zero_set zero_union_set",
            "PwAff.ne_set, PwAff.ge_set, PwAff.gt_set, PwAff.eq_set with 0",
        ),
        (
            "foreach_piece every_piece get_pieces n_piece get_pw_aff_list foreach_pw_aff every_pw_aff "
            "extract_pw_aff n_pw_aff",
            "PwAff.pieces, PwAff.n_pieces; a function is of one tuple",
        ),
        (
            "isa_aff as_aff",
            "PwAff.n_pieces, PwAff.pieces",
        ),
        (
            "is_empty params get_aggregate_domain",
            "PwAff.domain, and Set.is_empty, Set.params",
        ),
        (
            "gist_params",
            "PwAff.gist with the parameters' condition on the domain",
        ),
        (
            "intersect_domain_* subtract_domain_*",
            "PwAff.intersect_domain, PwAff.subtract_domain",
        ),
        (
            "pullback_union_pw_multi_aff",
            "PwAff.pullback",
        ),
        (
            "zero_on_domain* val_on_domain* var_on_domain param_on_domain* aff_on_domain pw_aff_on_domain from_aff "
            "from_pw_aff from_range empty*",
            "PwAff.on",
        ),
        (
            "nan_on_domain* involves_nan",
            "not here: every value is an integer",
        ),
        (
            "domain_reverse project_domain_on_params",
            "PwAff.pullback, PwAff.as_map",
        ),
        (
            "add_pw_aff to_union_pw_aff",
            "PwAff.union_add; unions of functions of several tuples are Maps",
        ),
        (
            "move_dims insert_domain",
            "PwAff.align_params, PwAff.as_map",
        ),
    ),
    "MultiPwAff": (
        (
            "add sub scale_* mod_multi_val add_constant_* floor",
            "f + g, f - g, 2 * f; other arithmetic on the members",
        ),
        (
            "get_at get_aff get_pw_aff get_union_pw_aff get_list set_at set_aff set_pw_aff set_union_pw_aff "
            "get_constant_multi_val is_cst",
            "f[k], len(f), for e in f; a new one by MultiPwAff.of",
        ),
        (
            "foreach_piece every_piece n_piece isa_multi_aff as_multi_aff foreach_pw_multi_aff every_pw_multi_aff "
            "get_pw_multi_aff_list n_pw_multi_aff extract_* isa_pw_multi_aff as_pw_multi_aff as_multi_union_pw_aff "
            "as_set as_union_map to_* add_pw_multi_aff",
            "MultiPwAff.cells, MultiPwAff.pieces, MultiPwAff.as_map; one class for all of them",
        ),
        (
            "from_aff* from_pw_aff* from_union_pw_aff* from_multi_union_pw_aff from_union_pw_multi_aff",
            "MultiPwAff.of",
        ),
        (
            "from_set from_union_set from_domain from_range",
            "Map.as_pw_multi_aff, Map.as_multi_pw_aff",
        ),
        (
            "*_map *_set",
            "Map.lex_lt_map and the like of the graphs, PwAff.eq_set of the members",
        ),
        (
            "pullback_union_pw_multi_aff apply_* preimage_*",
            "MultiPwAff.pullback",
        ),
        (
            "intersect_domain_* subtract_domain_* intersect_range",
            "MultiPwAff.intersect_domain, MultiPwAff.subtract_domain; Map.intersect_range of the graph",
        ),
        (
            "splice range_splice",
            "MultiPwAff.product, MultiPwAff.range_product, MultiPwAff.flat_range_product",
        ),
        (
            "factor_range range_factor_domain range_factor_range flatten_domain flatten_range range_is_wrapping "
            "domain_reverse domain_map range_map project_out_map project_domain_on_params",
            "of the graph, MultiPwAff.as_map: Map.range_factor_domain, Map.flatten_range and the like",
        ),
        (
            "identity* zero* multi_val_on_* multi_aff_on_domain pw_multi_aff_on_domain",
            "Set.identity and Map.as_pw_multi_aff; MultiPwAff.of",
        ),
        (
            "max min max_multi_val min_multi_val",
            "PwAff.max, PwAff.min, PwAff.max_val, PwAff.min_val of the members",
        ),
        (
            "union_lexmax union_lexmin",
            "MultiPwAff.union_prefer where domains are disjoint; else Map.lexmin of the union of the graphs",
        ),
        (
            "gist_params",
            "MultiPwAff.gist",
        ),
        (
            "plain_is_empty",
            "MultiPwAff.domain and Set.is_empty",
        ),
        (
            "involves_nan",
            "not here: every value is an integer",
        ),
        (
            "empty* fix_si lift",
            "of the graph, MultiPwAff.as_map",
        ),
    ),
}
"""By the class here, "" for both: isl's names with blanks between, and what is here."""
