// clang-format off: macros
// What a row becomes: a functor over its number. Its attributes are members of that number's type, read once per line.
// Included inside a target's namespace after numbers.h; then come tables/slopes.h, and row_kinds.h before each table.
struct None {};  // the derivative of what has none
inline constexpr None none;

// The type of a value or slope must be exactly the row's number. A bare 0.5 would make a float formula double.
template <class N, class T> NEURA_HD constexpr N exact(T v) {
  if constexpr (is_same<T, N>) return v;
  else if constexpr (is_same<T, Constant>) return N(v);
  else {
    static_assert(is_same<T, None>,
                  "a formula keeps its number type: write 0.5_c, not 0.5; a comparison needs to_bool");
    return N();
  }
}
template <> NEURA_HD constexpr Probe exact<Probe, None>(None) {
  Probe p;
  return p.none = true, p;
}

template <ResultType C, class N> struct ResultOf { using type = N; };
template <class N> struct ResultOf<ResultType::as_bool, N> { using type = mask_of<N>; };
template <class N> struct ResultOf<ResultType::as_real, N> { using type = real_of<N>; };
template <class N> struct ResultOf<ResultType::as_real_float, N> { using type = real_of<N>; };
template <bool Mask, class N> struct FirstOf { using type = N; };
template <class N> struct FirstOf<true, N> { using type = mask_of<N>; };

template <class N> struct Attributes {
  const double* values;
  NEURA_HD constexpr explicit Attributes(const double* v = nullptr) : values(v) {}
  NEURA_HD constexpr N next() { return values ? N(Constant{*values++}) : N(0_c); }
};
template <> NEURA_HD constexpr Probe Attributes<Probe>::next() { return {}; }

// What slope K of a row reads, found out by running it.
template <template <class> class Row, int K> NEURA_HD constexpr Probe probe() {
  constexpr Row<Probe> row{};
  if constexpr (K >= Row<Probe>::arity) return exact<Probe>(none);
  else if constexpr (Row<Probe>::arity == 1)
    return row.template slope<K>(Probe::g(), Probe::operand(0), Probe::result());
  else if constexpr (Row<Probe>::arity == 2)
    return row.template slope<K>(Probe::g(), Probe::operand(0), Probe::operand(1), Probe::result());
  else
    return row.template slope<K>(Probe::g(), Probe::operand(0), Probe::operand(1), Probe::operand(2), Probe::result());
}
template <template <class> class Row> NEURA_HD constexpr Probe value_probe() {
  constexpr Row<Probe> row{};
  if constexpr (Row<Probe>::arity == 1) return row(Probe::operand(0));
  else if constexpr (Row<Probe>::arity == 2) return row(Probe::operand(0), Probe::operand(1));
  else return row(Probe::operand(0), Probe::operand(1), Probe::operand(2));
}
// Runs all formulas of a row with Probe, where the row is defined: what Probe refuses, no other number ever sees.
template <template <class> class Row> constexpr bool checked() {
  constexpr Probe y = value_probe<Row>();
  constexpr TypeRule kind = Row<Probe>::kind;
  static_assert(!y.fraction() || kind.makes_float() || !(kind.accepted & (integers | booleans)),
                "a formula with a fraction cannot take integers: to_float, or fewer dtypes");
  return (void)probe<Row, 0>(), (void)probe<Row, 1>(), (void)probe<Row, 2>(), true;
}
