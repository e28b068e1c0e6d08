"""isl's methods that are called otherwise here, by isl's name: the rows of the tables in docs/isl.md.

They are those without its backquotes; a test holds them to these. `*` stands for the rest of a name.
"""

ROWS = {
    "": (
        (
            "copy dump get_ctx reset_user alloc empty_ctx zero_ctx",
            "not here: values are immutable and belong to no context; a copy is the value itself",
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
            "not here: Python's lists; a set's floors are in its Set.pieces and constraints",
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
            "lower_bound_multi_* upper_bound_multi_*",
            "the same, a dimension at a time",
        ),
        (
            "drop_constraints_not_involving_dims",
            "Set.drop_constraints_involving",
        ),
        (
            "remove_divs* remove_unknown_divs",
            "Set.known_divs; divs are no property of a value here",
        ),
        (
            "min_multi_union_pw_aff",
            "Set.dim_max, Set.dim_min, Set.max, Set.min: functions of the parameters",
        ),
        (
            "sum",
            "Set.union, Set.product and Map.apply_range for sums",
        ),
        (
            "unshifted_simple_hull_from_set_list",
            "Set.unshifted_simple_hull, Set.simple_hull",
        ),
        (
            "plain_get_val_if_fixed get_plain_multi_val_if_fixed",
            "Set.dim_min, Set.sample_point",
        ),
        (
            "get_stride get_stride_info get_lattice_tile dim_residue_class_val",
            "Set.box_hull, with strides",
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
            "box_from_points",
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
            "from_constraint_matrices equalities_matrix inequalities_matrix foreach_bound_pair "
            "foreach_opposite_constraint_pair",
            "s & Set(text): Set.intersect; Set.equate, Set.lower_bound and the like; matrices are none here",
        ),
        (
            "solutions",
            "RationalSet.solutions, of what Set.coefficients gives",
        ),
        (
            "reduced_basis",
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
            "lower_bound_multi_pw_aff upper_bound_multi_pw_aff",
            "Map.lower_bound, Map.upper_bound",
        ),
        (
            "equal",
            "Map.identity, Map.equate",
        ),
        (
            "less_at more_at",
            "Map.order_lt, Map.order_gt, Map.equate",
        ),
        (
            "lex_*_first",
            "Map.lex_lt, Map.lex_le, Map.lex_gt, Map.lex_ge, of the first dimensions of a product",
        ),
        (
            "lex_*_at_multi_*",
            "Map.lex_lt_map, Map.lex_le_map, Map.lex_gt_map, Map.lex_ge_map",
        ),
        (
            "eq_at_multi_*",
            "Map.intersect with f.as_map() composed: Map.apply_range",
        ),
        (
            "drop_constraints_not_involving_dims",
            "Map.drop_constraints_involving",
        ),
        (
            "remove_divs* remove_unknown_divs",
            "Map.known_divs",
        ),
        (
            "floordiv_val sum",
            "Map.apply_range with the relation of the arithmetic",
        ),
        (
            "unshifted_simple_hull_from_map_list",
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
            "intersect_*_space",
            "Map.only, Map.intersect_domain, Map.intersect_range, Map.intersect_domain_wrapped_domain, "
            "Map.intersect_range_wrapped_domain",
        ),
        (
            "partial_lexmax* partial_lexmin*",
            "Map.lexmin, and a difference of domains",
        ),
        (
            "from_aff* from_qpolynomial",
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
            "from_constraint_matrices equalities_matrix inequalities_matrix",
            "m & Map(text): Map.intersect; matrices are none here",
        ),
        (
            "apply_*_fold",
            "not here: no bounds of polynomials",
        ),
    ),
    "PwAff": (
        (
            "foreach_pw_aff every_pw_aff extract_pw_aff",
            "PwAff.pieces, PwAff.n_pieces; a function is of one tuple",
        ),
        (
            "intersect_domain_* subtract_domain_*",
            "PwAff.intersect_domain, PwAff.subtract_domain",
        ),
        (
            "aff_on_domain pw_aff_on_domain from_range empty*",
            "PwAff.on",
        ),
        (
            "nan_on_domain*",
            "not here: every value is an integer",
        ),
        (
            "project_domain_on_params",
            "PwAff.pullback, PwAff.as_map",
        ),
        (
            "add_pw_aff",
            "PwAff.union_add; unions of functions of several tuples are Maps",
        ),
        (
            "insert_domain",
            "PwAff.align_params, PwAff.as_map",
        ),
    ),
    "MultiPwAff": (
        (
            "add_constant_*",
            "f + g, f - g, 2 * f; other arithmetic on the members",
        ),
        (
            "set_union_pw_aff get_constant_multi_val",
            "f[k], len(f), for e in f; a new one by MultiPwAff.of",
        ),
        (
            "foreach_pw_multi_aff every_pw_multi_aff get_pw_multi_aff_list n_pw_multi_aff extract_* to_* "
            "add_pw_multi_aff",
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
            "apply_* preimage_*",
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
            "flatten_domain flatten_range range_is_wrapping domain_map range_map project_out_map "
            "project_domain_on_params",
            "of the graph, MultiPwAff.as_map: Map.range_factor_domain, Map.flatten_range and the like",
        ),
        (
            "identity* zero* multi_val_on_* multi_aff_on_domain pw_multi_aff_on_domain",
            "Set.identity and Map.as_pw_multi_aff; MultiPwAff.of",
        ),
        (
            "max min",
            "PwAff.max, PwAff.min, PwAff.max_val, PwAff.min_val of the members",
        ),
        (
            "union_lexmax union_lexmin",
            "MultiPwAff.union_prefer where domains are disjoint; else Map.lexmin of the union of the graphs",
        ),
        (
            "empty* fix_si lift",
            "of the graph, MultiPwAff.as_map",
        ),
    ),
}
"""By the class here, "" for both: isl's names with blanks between, and what is here."""
