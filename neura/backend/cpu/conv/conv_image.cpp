// Offsets of the values under a window.
#include <algorithm>

#include "neura/backend/cpu/conv/conv.h"

namespace neura {
namespace {

template <class T> void copy_steps(const T* from, int64_t from_step, T* to, int64_t to_step, int64_t n) {
  if (from_step == 1 && to_step == 1)  // often too little for a call
    for (int64_t i = 0; i < n; ++i) to[i] = from[i];
  else if (from_step == 2 && to_step == 1)  // so that it becomes vectors
    for (int64_t i = 0; i < n; ++i) to[i] = from[2 * i];
  else
    for (int64_t i = 0; i < n; ++i) to[i * to_step] = from[i * from_step];
}

}  // namespace

template <class T> PaddedImage<T>::PaddedImage(const ConvShape& s, int64_t channels) : s_(s), channels_(channels) {
  for (int d = 0; d < 3; ++d) {
    // What no window reaches is left out; what is before the padded image (negative padding) as well.
    begin_[d] = std::max<int64_t>(0, -s.padding[d]);
    end_[d] = std::max(begin_[d], std::min(s.in[d], s.reach(d) - s.padding[d]));
    phases_[d] = s.dilation[d] % s.stride[d] ? std::min(s.stride[d], (s.kernel[d] - 1) * s.dilation[d] + 1) : 1;
    size_[d] = parts(s.reach(d), s.stride[d]);
  }
  phase_ = size_[0] * size_[1] * size_[2];
  plane_ = phase_ * phases_[0] * phases_[1] * phases_[2];
}

// f(in the image, in the padded one, values) for every run of values that windows meet, of one channel.
template <class T> template <class F> void PaddedImage<T>::each_run(F f) const {
  const int64_t* const stride = s_.stride;
  for (int64_t z = begin_[0]; z < end_[0]; ++z)
    for (int64_t y = begin_[1]; y < end_[1]; ++y) {
      const int64_t pz = z + s_.padding[0], py = y + s_.padding[1], row = (z * s_.in[1] + y) * s_.in[2];
      if (pz % stride[0] >= phases_[0] || py % stride[1] >= phases_[1]) continue;
      const int64_t phase = (pz % stride[0] * phases_[1] + py % stride[1]) * phases_[2];
      const int64_t line = (pz / stride[0] * size_[1] + py / stride[1]) * size_[2];
      for (int64_t p = 0; p < phases_[2]; ++p) {
        const int64_t first = begin_[2] + ((p - begin_[2] - s_.padding[2]) % stride[2] + stride[2]) % stride[2];
        if (first < end_[2])
          f(row + first, (phase + p) * phase_ + line + (first + s_.padding[2]) / stride[2],
            parts(end_[2] - first, stride[2]));
      }
    }
}

// A phase is written in order: the rows of the image, and zeros between them.
template <class T> void PaddedImage<T>::load_phase(const T* image, const int64_t (&phase)[3], T* to) const {
  const int64_t* const stride = s_.stride;
  const auto input = [&](int d, int64_t place) { return place * stride[d] + phase[d] - s_.padding[d]; };
  const int64_t first =
      parts(std::max<int64_t>(0, begin_[2] - input(2, 0)), stride[2]);  // place of a row's first value
  const int64_t size = parts(std::max<int64_t>(0, end_[2] - input(2, first)), stride[2]);
  T* at = to;
  for (int64_t z = 0; z < size_[0]; ++z)
    for (int64_t y = 0; y < size_[1]; ++y) {
      const int64_t iz = input(0, z), iy = input(1, y);
      if (iz < begin_[0] || iz >= end_[0] || iy < begin_[1] || iy >= end_[1] || !size) continue;
      T* const line = to + place(z, y, first);
      if (line - at == 2) at[0] = at[1] = T(0);  // most often
      else std::fill(at, line, T(0));
      copy_steps(image + (iz * s_.in[1] + iy) * s_.in[2] + input(2, first), stride[2], line, 1, size);
      at = line + size;
    }
  std::fill(at, to + phase_, T(0));
}

template <class T> void PaddedImage<T>::load(const T* image, int64_t first, int64_t last, T* padded) const {
  T* to = padded + first * plane_;
  for (int64_t c = first; c < last; ++c)
    for (int64_t z = 0; z < phases_[0]; ++z)
      for (int64_t y = 0; y < phases_[1]; ++y)
        for (int64_t x = 0; x < phases_[2]; ++x, to += phase_) load_phase(image + c * s_.in_size(), {z, y, x}, to);
}

template <class T> void PaddedImage<T>::store(const T* padded, T* image) const {
  bool whole = true;
  for (int d = 0; d < 3; ++d) whole = whole && !begin_[d] && end_[d] == s_.in[d] && phases_[d] == s_.stride[d];
  for (int64_t c = 0; c < channels_; ++c) {
    const T* const from = padded + c * plane_;
    T* const to = image + c * s_.in_size();
    if (!whole) std::fill_n(to, s_.in_size(), T(0));
    each_run([&](int64_t in, int64_t at, int64_t n) { copy_steps(from + at, 1, to + in, s_.stride[2], n); });
  }
}

template <class T> void PaddedImage<T>::offsets(int64_t* to) const {
  const auto place = [&](int d, int64_t k) { return k * s_.dilation[d] / s_.stride[d]; };
  const auto phase = [&](int d, int64_t k) { return k * s_.dilation[d] % s_.stride[d]; };
  for (int64_t c = 0; c < channels_; ++c)
    for (int64_t z = 0; z < s_.kernel[0]; ++z)
      for (int64_t y = 0; y < s_.kernel[1]; ++y)
        for (int64_t x = 0; x < s_.kernel[2]; ++x)
          *to++ = c * plane_ + ((phase(0, z) * phases_[1] + phase(1, y)) * phases_[2] + phase(2, x)) * phase_ +
                  (place(0, z) * size_[1] + place(1, y)) * size_[2] + place(2, x);
}

template <class T> int64_t PaddedImage<T>::segments(int64_t begin, int64_t end, Segment* to) const {
  const int64_t width = s_.out[2];
  int64_t count = 0, x = begin % width, line = begin / width, y = line % s_.out[1], z = line / s_.out[1];
  for (int64_t p = begin; p < end;) {
    const int64_t size = std::min(width - x, end - p), from = (z * size_[1] + y) * size_[2] + x;
    if (count && to[count - 1].from + to[count - 1].size == from) to[count - 1].size += size;
    else to[count++] = {from, p - begin, size};
    p += size, x = 0;
    if (++y == s_.out[1]) y = 0, ++z;
  }
  return count;
}

template class PaddedImage<float>;
template class PaddedImage<double>;

}  // namespace neura
