// The innermost loop, all that is compiled per (row, dtype, instruction set). Included inside a target's namespace,
// which before has defined NumberOf: the number in which it computes each dtype.
template <class N> struct Memory {  // how a number is stored
  using Element = N;
  static constexpr int step = 1;
  static N load(const void* p, std::size_t i) { return static_cast<const N*>(p)[i]; }
  static void store(N v, void* p, std::size_t i) { static_cast<N*>(p)[i] = v; }
};
template <> struct Memory<bool> {
  static bool load(const void* p, std::size_t i) { return static_cast<const unsigned char*>(p)[i] != 0; }
  static void store(bool v, void* p, std::size_t i) { static_cast<unsigned char*>(p)[i] = v; }
};
#ifdef NEURA_HAS_BATCH
template <class T> struct Memory<Batch<T>> {
  static constexpr int step = Batch<T>::lanes;
  static Batch<T> load(const void* p, std::size_t i) { return hn::LoadU(Tag<T>(), static_cast<const T*>(p) + i); }
  static void store(Batch<T> v, void* p, std::size_t i) { hn::StoreU(v.raw, Tag<T>(), static_cast<T*>(p) + i); }
};
template <class T> struct Memory<Mask<T>> {  // bytes 0 and 1
  using Bytes = hn::Rebind<uint8_t, Tag<T>>;
  using Whole = hn::RebindToUnsigned<Tag<T>>;
  static Mask<T> load(const void* p, std::size_t i) {
    const auto bytes = hn::LoadU(Bytes(), static_cast<const uint8_t*>(p) + i);
    const auto truth = [](auto wide) HWY_ATTR { return hn::RebindMask(Tag<T>(), hn::Ne(wide, hn::Zero(Whole()))); };
    if constexpr (sizeof(T) == 4) return {truth(hn::PromoteTo(Whole(), bytes))};
    else return {truth(hn::PromoteTo(Whole(), hn::PromoteTo(hn::Rebind<uint32_t, Tag<T>>(), bytes)))};
  }
  static void store(Mask<T> m, void* p, std::size_t i) {
    const auto ones = hn::BitCast(Whole(), hn::VecFromMask(Tag<T>(), m.raw));
    hn::StoreU(hn::And(hn::TruncateTo(Bytes(), ones), hn::Set(Bytes(), 1)), Bytes(), static_cast<uint8_t*>(p) + i);
  }
};
template <class T> struct Memory<complex<Batch<T>>> {
  static constexpr int step = Batch<T>::lanes;
  static complex<Batch<T>> load(const void* p, std::size_t i) {
    complex<Batch<T>> z(0_c);
    hn::LoadInterleaved2(Tag<T>(), static_cast<const T*>(p) + 2 * i, z.re.raw, z.im.raw);
    return z;
  }
  static void store(complex<Batch<T>> z, void* p, std::size_t i) {
    hn::StoreInterleaved2(z.re.raw, z.im.raw, Tag<T>(), static_cast<T*>(p) + 2 * i);
  }
};
#endif

template <class N, bool Read> N load_if(const void* p, std::size_t i) {
  if constexpr (Read) return Memory<N>::load(p, i);
  else if constexpr (requires { N(0_c); }) return N(0_c);
  else return N{};
}

template <int...> struct Indices {};
template <template <class> class Row, class N, std::size_t kGrain, int... I>
void value_line(const Line& l, Indices<I...>) {
  using R = typename Row<N>::R;
  const Row<N> row(l.attributes);
  const Line line = l;  // a copy, which stores through out cannot change
  const std::size_t size = line.size / kGrain * kGrain;
  NEURA_INDEPENDENT
  for (std::size_t i = 0; i < size; i += Memory<N>::step)
    if constexpr (Row<N>::kind.mask_first)
      Memory<R>::store(row(Memory<typename Row<N>::First>::load(line.in[0], i), Memory<N>::load(line.in[I], i)...),
                       line.out, i);
    else Memory<R>::store(row(Memory<N>::load(line.in[I], i)...), line.out, i);
}

template <template <class> class Row, int K, class N, std::size_t kGrain, int... I>
void slope_line(const Line& l, Indices<I...>) {
  using R = typename Row<N>::R;
  using First = typename Row<N>::First;
  constexpr Probe reads = probe<Row, K>();
  constexpr bool wrap = is_complex<N> && !Row<N>::kind.own_conjugate;
  const Row<N> row(l.attributes);
  const Line line = l;
  const std::size_t size = line.size / kGrain * kGrain;
  NEURA_INDEPENDENT
  for (std::size_t i = 0; i < size; i += Memory<N>::step) {
    R g = load_if<R, (reads.reads() & 1) != 0>(line.in[0], i);
    if constexpr (wrap) g = conj(g);
    const R y = load_if<R, (reads.reads() & 16) != 0>(line.in[1 + Row<N>::arity], i);
    N d;
    if constexpr (Row<N>::kind.mask_first)
      d = row.template slope<K>(g, load_if<First, (reads.reads() & 2) != 0>(line.in[1], i),
                                load_if<N, (reads.reads() & (2 << I)) != 0>(line.in[1 + I], i)..., y);
    else d = row.template slope<K>(g, load_if<N, (reads.reads() & (2 << I)) != 0>(line.in[1 + I], i)..., y);
    if constexpr (wrap) d = conj(d);
    Memory<N>::store(d, line.out, i);
  }
}

template <template <class> class Row> constexpr auto operands() {
  if constexpr (Row<Probe>::kind.mask_first) return Indices<1, 2>();
  else if constexpr (Row<Probe>::arity == 1) return Indices<0>();
  else if constexpr (Row<Probe>::arity == 2) return Indices<0, 1>();
  else return Indices<0, 1, 2>();
}
template <template <class> class Row, int D> void value_of(const Line& line) {
  value_line<Row, typename NumberOf<DType(D)>::type, simd_padding(DType(D))>(line, operands<Row>());
}
template <template <class> class Row, int K, int D> void slope_of(const Line& line) {
  slope_line<Row, K, typename NumberOf<DType(D)>::type, simd_padding(DType(D))>(line, operands<Row>());
}

// All kernels of one row; only those dtypes that its type rule computes in and that are wanted, and slopes that exist
// and are not g itself.
template <template <class> class Row, DTypeSet kDtypes, int D = 0> constexpr void fill(RowKernel& k) {
  if constexpr (D < kDTypes) {
    if constexpr ((kDtypes >> D & 1) != 0 && Row<Probe>::kind.has_kernel(DType(D))) {
      k.value[D] = &value_of<Row, D>;
      if constexpr (!kOnlyPrograms && differentiable(DType(D))) {
        constexpr Probe s[3] = {probe<Row, 0>(), probe<Row, 1>(), probe<Row, 2>()};
        if constexpr (!s[0].none && !s[0].is_g) k.slope[0][D] = &slope_of<Row, 0, D>;
        if constexpr (!s[1].none && !s[1].is_g) k.slope[1][D] = &slope_of<Row, 1, D>;
        if constexpr (!s[2].none && !s[2].is_g) k.slope[2][D] = &slope_of<Row, 2, D>;
      }
    }
    fill<Row, kDtypes, D + 1>(k);
  }
}
template <template <class> class Row, DTypeSet kDtypes> constexpr RowKernel make_kernel() {
  RowKernel k{};
  fill<Row, kDtypes>(k);
  return k;
}
template <template <class> class Row, DTypeSet kDtypes>
inline constexpr RowKernel kernel_of = make_kernel<Row, kDtypes>();
inline constexpr RowKernel kNoKernel{};
// One object for all rows that are not wanted.
template <template <class> class Row, DTypeSet kDtypes> constexpr const RowKernel* kernel_if_wanted() {
  if constexpr (kDtypes) return &kernel_of<Row, kDtypes>;
  else return &kNoKernel;
}
