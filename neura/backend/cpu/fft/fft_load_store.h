// clang-format off
// Lines of memory into a tile and back; included once per instruction set, inside its namespace.

template <class T> int64_t lanes_of() { return int64_t(hn::Lanes(Tag<T>())); }

// The distance of the lines, if constant and as many as there are lanes; else 0.
template <class T> int64_t apart(const FftLines<T>& l) {
  if (l.count != lanes_of<T>() || l.count < 2) return 0;
  for (int k = 2; k < l.count; ++k)
    if (l.at[k] - l.at[k - 1] != l.at[1] - l.at[0]) return 0;
  return l.at[1] - l.at[0];
}
constexpr int64_t kBlock = 8;  // elements of a line that are moved before the next line's: a part of the cache

// Complex numbers of lines pass a buffer [kBlock, lanes, 2] on their way: moved one by one, or, where adjacent, as
// squares whose rows become columns.
template <class T> struct Pair { T re, im; };
template <class T, class From, class To> HWY_INLINE void move_square(From from, To to) {
  const Tag<double> d;
  Vector v[kSquare<T>];
  HWY_UNROLL(8)
  for (int i = 0; i < kSquare<T>; ++i) v[i] = hn::LoadU(d, reinterpret_cast<const double*>(from(i)));
  transpose<T>(v);
  HWY_UNROLL(8)
  for (int i = 0; i < kSquare<T>; ++i) hn::StoreU(v[i], d, reinterpret_cast<double*>(to(i)));
}
template <class T> bool squares_fit(int lines, int64_t step, int64_t count) {
  return kSquares<T> && lines == lanes_of<T>() && step == 2 && count % kSquare<T> == 0;
}

template <class T> void load_pairs(const FftLines<const T>& l, FftTile<T> to) {
  const Tag<T> d;
  const int64_t lanes = lanes_of<T>();
  alignas(64) Pair<T> buffer[kBlock * kFftLanes] = {};
  for (int64_t b = 0; b < l.n; b += kBlock) {
    const int64_t count = std::min(l.n - b, kBlock);
    if (squares_fit<T>(l.count, l.step, count)) {
      if constexpr (kSquares<T>)
        for (int k = 0; k < l.count; k += kSquare<T>)
          for (int64_t i = 0; i < count; i += kSquare<T>)
            move_square<T>([&](int j) { return l.at[k + j] + 2 * (b + i); },
                           [&](int j) { return &buffer[(i + j) * lanes + k].re; });
    } else {
      for (int k = 0; k < l.count; ++k)
        for (int64_t i = 0; i < count; ++i)
          std::memcpy(buffer + i * lanes + k, l.at[k] + (b + i) * l.step, sizeof(Pair<T>));
    }
    for (int64_t i = 0; i < count; ++i) {
      C<T> v;
      hn::LoadInterleaved2(d, &buffer[i * lanes].re, v.re, v.im);
      write(v, to.re, to.im, (b + i) * lanes);
    }
  }
}
template <class T> void store_pairs(FftTile<T> from, const FftLines<T>& l, T scale) {
  const Tag<T> d;
  const int64_t lanes = lanes_of<T>();
  const auto f = hn::Set(d, scale);
  alignas(64) Pair<T> buffer[kBlock * kFftLanes];
  for (int64_t b = 0; b < l.n; b += kBlock) {
    const int64_t count = std::min(l.n - b, kBlock);
    for (int64_t i = 0; i < count; ++i) {
      const C<T> v = scaled(read<T>(from.re, from.im, (b + i) * lanes), f);
      hn::StoreInterleaved2(v.re, v.im, d, &buffer[i * lanes].re);
    }
    if (squares_fit<T>(l.count, l.step, count)) {
      if constexpr (kSquares<T>)
        for (int k = 0; k < l.count; k += kSquare<T>)
          for (int64_t i = 0; i < count; i += kSquare<T>)
            move_square<T>([&](int j) { return &buffer[(i + j) * lanes + k].re; },
                           [&](int j) { return l.at[k + j] + 2 * (b + i); });
    } else {
      for (int k = 0; k < l.count; ++k)
        for (int64_t i = 0; i < count; ++i)
          std::memcpy(l.at[k] + (b + i) * l.step, buffer + i * lanes + k, sizeof(Pair<T>));
    }
  }
}

template <class T> void load(const FftLines<const T>& l, FftTile<T> to) {
  const Tag<T> d;
  const int64_t lanes = lanes_of<T>(), distance = apart(l);
  if (distance == 2 && l.gap == 1) {
    for (int64_t i = 0; i < l.n; ++i) {
      V<T> re, im;
      hn::LoadInterleaved2(d, l.at[0] + i * l.step, re, im);
      hn::Store(re, d, to.re + i * lanes), hn::Store(im, d, to.im + i * lanes);
    }
    return;
  }
  if (distance == 1) {
    for (int64_t i = 0; i < l.n; ++i) {
      hn::Store(hn::LoadU(d, l.at[0] + i * l.step), d, to.re + i * lanes);
      hn::Store(l.gap != kFftReal ? hn::LoadU(d, l.at[0] + i * l.step + l.gap) : hn::Zero(d), d, to.im + i * lanes);
    }
    return;
  }
  if (l.gap == 1) return load_pairs(l, to);
  for (int64_t b = 0; b < l.n; b += kBlock) {
    const int64_t e = std::min(l.n, b + kBlock);
    for (int k = 0; k < l.count; ++k) {
      const T* const from = l.at[k];
      for (int64_t i = b; i < e; ++i) {
        to.re[i * lanes + k] = from[i * l.step];
        to.im[i * lanes + k] = l.gap != kFftReal ? from[i * l.step + l.gap] : T(0);
      }
    }
    for (int k = l.count; k < lanes; ++k)
      for (int64_t i = b; i < e; ++i) to.re[i * lanes + k] = to.im[i * lanes + k] = 0;
  }
}

template <class T> void store(FftTile<T> from, const FftLines<T>& l, T scale) {
  const Tag<T> d;
  const int64_t lanes = lanes_of<T>(), distance = apart(l);
  const auto f = hn::Set(d, scale);
  if (distance == 2 && l.gap == 1) {
    for (int64_t i = 0; i < l.n; ++i) {
      const C<T> v = scaled(read(from.re, from.im, i * lanes), f);
      hn::StoreInterleaved2(v.re, v.im, d, l.at[0] + i * l.step);
    }
    return;
  }
  if (distance == 1) {
    for (int64_t i = 0; i < l.n; ++i) {
      const C<T> v = scaled(read(from.re, from.im, i * lanes), f);
      hn::StoreU(v.re, d, l.at[0] + i * l.step);
      if (l.gap != kFftReal) hn::StoreU(v.im, d, l.at[0] + i * l.step + l.gap);
    }
    return;
  }
  if (l.gap == 1) return store_pairs(from, l, scale);
  for (int64_t b = 0; b < l.n; b += kBlock) {
    const int64_t e = std::min(l.n, b + kBlock);
    for (int k = 0; k < l.count; ++k) {
      T* const to = l.at[k];
      for (int64_t i = b; i < e; ++i) {
        to[i * l.step] = from.re[i * lanes + k] * scale;
        if (l.gap != kFftReal) to[i * l.step + l.gap] = from.im[i * lanes + k] * scale;
      }
    }
  }
}
