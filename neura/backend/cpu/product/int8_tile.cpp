// Tiles of products of 8-bit integers; once per instruction set.
#include "neura/backend/cpu/product/int8_tile.h"

#include <algorithm>
#include <cstring>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "neura/backend/cpu/product/int8_tile.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace neura {
namespace HWY_NAMESPACE {
namespace {

// The instructions of AVX2 multiply 8-bit numbers only with sums that saturate. So bytes are widened to 16 bits, those
// of even and those of odd places apart, and pairs of them multiplied and added: exact.
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
#define NEURA_PAIRS
constexpr int kPairRows = 4;

template <bool kUnsigned> HWY_INLINE __m256i even_bytes(__m256i v) {
  if constexpr (kUnsigned) return _mm256_and_si256(v, _mm256_set1_epi16(255));
  else return _mm256_srai_epi16(_mm256_slli_epi16(v, 8), 8);
}
template <bool kUnsigned> HWY_INLINE __m256i odd_bytes(__m256i v) {
  if constexpr (kUnsigned) return _mm256_srli_epi16(v, 8);
  else return _mm256_srai_epi16(v, 8);
}

template <int H, bool kUnsignedLeft>
void pair_panel(const IntegerTile& t, const std::uint8_t* right, std::int32_t* to) {
  __m256i sum[H][2];
  HWY_UNROLL(4)
  for (int i = 0; i < H; ++i) sum[i][0] = sum[i][1] = _mm256_setzero_si256();
  const std::uint8_t* left = t.left;
  for (std::int64_t k = 0; k < t.depth; ++k, left += H * 4, right += 64) {
    __m256i even[2], odd[2];
    HWY_UNROLL(2)
    for (int v = 0; v < 2; ++v) {
      const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(right + 32 * v));
      even[v] = even_bytes<!kUnsignedLeft>(b), odd[v] = odd_bytes<!kUnsignedLeft>(b);
    }
    HWY_UNROLL(4)
    for (int i = 0; i < H; ++i) {
      std::int32_t four;
      std::memcpy(&four, left + 4 * i, 4);
      const __m256i a = _mm256_set1_epi32(four);
      const __m256i a_even = even_bytes<kUnsignedLeft>(a), a_odd = odd_bytes<kUnsignedLeft>(a);
      HWY_UNROLL(2)
      for (int v = 0; v < 2; ++v) {
        const __m256i both = _mm256_add_epi32(_mm256_madd_epi16(a_even, even[v]), _mm256_madd_epi16(a_odd, odd[v]));
        sum[i][v] = _mm256_add_epi32(sum[i][v], both);
      }
    }
  }
  for (int i = 0; i < H; ++i)
    for (int v = 0; v < 2; ++v)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i * kIntegerColumns + 8 * v), sum[i][v]);
}
template <int H, bool kUnsignedLeft> void pair_tile(const IntegerTile& t) {
  for (int p = 0; p < kIntegerPanels; ++p)
    pair_panel<H, kUnsignedLeft>(t, t.right + p * t.panel, t.sums + p * kIntegerPanel);
}
#else
template <int H, bool kUnsignedLeft> void plain_tile(const IntegerTile& t) {
  using Left = std::conditional_t<kUnsignedLeft, std::uint8_t, std::int8_t>;
  using Right = std::conditional_t<kUnsignedLeft, std::int8_t, std::uint8_t>;
  for (int p = 0; p < kIntegerPanels; ++p) {
    const auto* left = reinterpret_cast<const Left*>(t.left);
    const auto* right = reinterpret_cast<const Right*>(t.right + p * t.panel);
    std::uint32_t sums[H][kIntegerPanel] = {};
    for (std::int64_t k = 0; k < t.depth; ++k, left += H * 4, right += 64)
      for (int i = 0; i < H; ++i)
        for (int j = 0; j < kIntegerPanel; ++j) {
          std::int32_t four = 0;
          for (int l = 0; l < 4; ++l) four += std::int32_t(left[4 * i + l]) * right[4 * j + l];
          sums[i][j] += std::uint32_t(four);
        }
    for (int i = 0; i < H; ++i) std::memcpy(t.sums + i * kIntegerColumns + p * kIntegerPanel, sums[i], sizeof sums[i]);
  }
}
#endif

#if HWY_TARGET == HWY_AVX3
#define NEURA_VNNI
#define NEURA_VNNI_CODE __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))
// Highway has no instruction for this: sums of four products of an unsigned and a signed byte.
template <int H, bool kUnsignedLeft> NEURA_VNNI_CODE void vnni_tile(const IntegerTile& t) {
  __m512i sum[H][2];
  HWY_UNROLL(16)
  for (int i = 0; i < H; ++i) sum[i][0] = sum[i][1] = _mm512_setzero_si512();
  const std::uint8_t *left = t.left, *right = t.right, *other = t.right + t.panel;
  for (std::int64_t k = 0; k < t.depth; ++k, left += H * 4, right += 64, other += 64) {
    const __m512i b0 = _mm512_loadu_si512(right), b1 = _mm512_loadu_si512(other);
    HWY_UNROLL(16)
    for (int i = 0; i < H; ++i) {
      std::int32_t four;
      std::memcpy(&four, left + 4 * i, 4);
      const __m512i a = _mm512_set1_epi32(four);
      if constexpr (kUnsignedLeft) {
        sum[i][0] = _mm512_dpbusd_epi32(sum[i][0], a, b0), sum[i][1] = _mm512_dpbusd_epi32(sum[i][1], a, b1);
      } else {
        sum[i][0] = _mm512_dpbusd_epi32(sum[i][0], b0, a), sum[i][1] = _mm512_dpbusd_epi32(sum[i][1], b1, a);
      }
    }
  }
  HWY_UNROLL(16)
  for (int i = 0; i < H; ++i) {
    _mm512_storeu_si512(t.sums + i * kIntegerColumns, sum[i][0]);
    _mm512_storeu_si512(t.sums + i * kIntegerColumns + kIntegerPanel, sum[i][1]);
  }
}
#undef NEURA_VNNI_CODE
#endif

void pack_left(const std::uint8_t* from, std::int64_t row, std::int64_t column, int rows, std::int64_t k,
               std::uint8_t flip, std::uint8_t* to) {
  const std::uint32_t flips = flip * 0x01010101u;
  const std::int64_t whole = k / 4;
  for (int i = 0; i < rows; ++i, from += row) {
    std::uint8_t* out = to + 4 * i;
    if (column == 1) {
      for (std::int64_t g = 0; g < whole; ++g, out += 4 * rows) {
        std::uint32_t four;
        std::memcpy(&four, from + 4 * g, 4);
        four ^= flips;
        std::memcpy(out, &four, 4);
      }
    } else {
      for (std::int64_t g = 0; g < whole; ++g, out += 4 * rows)
        for (int l = 0; l < 4; ++l) out[l] = from[(4 * g + l) * column] ^ flip;
    }
    if (k % 4)
      for (int l = 0; l < 4; ++l) out[l] = l < k % 4 ? from[(4 * whole + l) * column] ^ flip : 0;
  }
}

// Four rows of 16 columns side by side.
void interleave(const std::uint8_t* from, std::int64_t row, std::uint32_t flips, std::uint8_t* to) {
#ifdef NEURA_PAIRS
  const auto load = [&](int r) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + r * row)); };
  const auto store = [&](int r, __m128i v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 16 * r), _mm_xor_si128(v, _mm_set1_epi32(int(flips))));
  };
  const __m128i r0 = load(0), r1 = load(1), r2 = load(2), r3 = load(3);
  const __m128i low = _mm_unpacklo_epi8(r0, r1), high = _mm_unpackhi_epi8(r0, r1);
  const __m128i other_low = _mm_unpacklo_epi8(r2, r3), other_high = _mm_unpackhi_epi8(r2, r3);
  store(0, _mm_unpacklo_epi16(low, other_low)), store(1, _mm_unpackhi_epi16(low, other_low));
  store(2, _mm_unpacklo_epi16(high, other_high)), store(3, _mm_unpackhi_epi16(high, other_high));
#else
  for (int j = 0; j < kIntegerPanel; ++j)
    for (int l = 0; l < 4; ++l) to[4 * j + l] = from[l * row + j] ^ std::uint8_t(flips);
#endif
}

void pack_right(const std::uint8_t* from, std::int64_t row, std::int64_t column, int columns, std::int64_t k,
                std::uint8_t flip, std::uint8_t* to) {
  const std::uint32_t flips = flip * 0x01010101u;
  const std::int64_t whole = k / 4, groups = (k + 3) / 4;
  std::int64_t first = 0;  // the first group that is still to be packed
  if (column == 1 && columns == kIntegerPanel) {
    for (; first < whole; ++first) interleave(from + 4 * first * row, row, flips, to + 64 * first);
  } else if (row == 1) {
    for (int j = 0; j < columns; ++j)
      for (std::int64_t g = 0; g < whole; ++g) {
        std::uint32_t four;
        std::memcpy(&four, from + j * column + 4 * g, 4);
        four ^= flips;
        std::memcpy(to + 64 * g + 4 * j, &four, 4);
      }
    for (std::int64_t g = 0; g < whole; ++g) std::memset(to + 64 * g + 4 * columns, 0, std::size_t(64 - 4 * columns));
    first = whole;
  }
  for (std::int64_t g = first; g < groups; ++g)
    for (int j = 0; j < kIntegerPanel; ++j)
      for (int l = 0; l < 4; ++l) {
        const bool there = j < columns && 4 * g + l < k;
        to[64 * g + 4 * j + l] = there ? from[(4 * g + l) * row + j * column] ^ flip : 0;
      }
}

#define NEURA_TILES(rows, tile)                                                                            \
  []<int... i>(std::integer_sequence<int, i...>) {                                                         \
    return IntegerKernels{rows, {&tile<i + 1, true>...}, {&tile<i + 1, false>...}, pack_left, pack_right}; \
  }                                                                                                        \
  (std::make_integer_sequence<int, rows>())

}  // namespace

const IntegerKernels* integer_table() {
#ifdef NEURA_VNNI
  static constexpr IntegerKernels vnni = NEURA_TILES(kIntegerRows, vnni_tile);
  static const bool has_vnni = __builtin_cpu_supports("avx512vnni");
  if (has_vnni) return &vnni;
#endif
#ifdef NEURA_PAIRS
  static constexpr IntegerKernels table = NEURA_TILES(kPairRows, pair_tile);
#else
  static constexpr IntegerKernels table = NEURA_TILES(4, plain_tile);
#endif
  return &table;
}
#undef NEURA_TILES
#undef NEURA_PAIRS
#undef NEURA_VNNI

}  // namespace HWY_NAMESPACE
#if HWY_ONCE
HWY_EXPORT(integer_table);
const IntegerKernels& integer_kernels() { return *HWY_DYNAMIC_DISPATCH(integer_table)(); }
#endif
}  // namespace neura
HWY_AFTER_NAMESPACE();
