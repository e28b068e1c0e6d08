"""isl's methods that are called otherwise here, by isl's name: the rows of the tables in docs/isl.md.

They are those without its backquotes; a test holds them to these. `*` stands for the rest of a name.
"""

ROWS = {
    "": (
        (
            "copy dump get_ctx reset_user",
            "by isl's names, seldom of use: values are immutable and belong to no context; a copy is the value itself",
        ),
        ("alloc empty_ctx zero_ctx", "the constructors; there is no context to give"),
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
            "get_lattice_tile",
            "Set.box_hull, with strides",
        ),
        (
            "foreach_bound_pair foreach_opposite_constraint_pair",
            "s & Set(text): Set.intersect; Set.equate, Set.lower_bound and the like",
        ),
        (
            "solutions",
            "RationalSet.solutions, of what Set.coefficients gives",
        ),
        (
            "reduced_basis",
            "not here: a set is its constraints",
        ),
    ),
    "Map": (
        (
            "get_range_lattice_tile",
            "Map.box_hull, with strides",
        ),
        (
            "from_aff* from_qpolynomial",
            "PwAff.as_map, MultiPwAff.as_map, Map.from_affs",
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
            "aff_on_domain pw_aff_on_domain empty*",
            "PwAff.on",
        ),
        (
            "add_pw_aff",
            "PwAff.union_add; unions of functions of several tuples are Maps",
        ),
    ),
    "MultiPwAff": (
        (
            "set_union_pw_aff",
            "f[k], len(f), for e in f; a new one by MultiPwAff.of",
        ),
        (
            "foreach_pw_multi_aff every_pw_multi_aff get_pw_multi_aff_list n_pw_multi_aff extract_* add_pw_multi_aff",
            "MultiPwAff.cells, MultiPwAff.pieces, MultiPwAff.as_map; one class for all of them",
        ),
        (
            "from_union_pw_aff* from_multi_union_pw_aff from_union_pw_multi_aff",
            "MultiPwAff.of",
        ),
        (
            "from_union_set",
            "Map.as_pw_multi_aff, Map.as_multi_pw_aff",
        ),
        (
            "*_set",
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
            "zero* multi_aff_on_domain pw_multi_aff_on_domain",
            "Set.identity and Map.as_pw_multi_aff; MultiPwAff.of",
        ),
        (
            "empty* lift",
            "of the graph, MultiPwAff.as_map",
        ),
    ),
    "Space": (
        (
            "extend",
            "s.add_dims(kind, n); isl's takes numbers of all dimensions, and makes a map's space of a set's",
        ),
    ),
}
"""By the class here, "" for both: isl's names with blanks between, and what is here."""
