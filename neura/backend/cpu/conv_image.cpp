// Where the values under a window lie.
#include <algorithm>
#include <cstring>

#include "neura/backend/cpu/conv.h"

namespace neura {

template <class T> PaddedImage<T>::PaddedImage(const ConvShape& s, int64_t channels) : s_(s), channels_(channels) {
  for (int d = 0; d < 3; ++d) {
    size_[d] = s.reach(d);
    // What no window reaches is left out; what lies before the padded image (negative padding) as well.
    begin_[d] = std::max<int64_t>(0, -s.padding[d]);
    end_[d] = std::max(begin_[d], std::min(s.in[d], size_[d] - s.padding[d]));
  }
  plane_ = size_[0] * size_[1] * size_[2];
}

template <class T> void PaddedImage<T>::load(const T* image, int64_t first, int64_t last, T* padded) const {
  const int64_t width = end_[2] - begin_[2];
  for (int64_t c = first; c < last; ++c) {
    T* const to = padded + c * plane_;
    if (width != size_[2] || end_[1] - begin_[1] != size_[1] || end_[0] - begin_[0] != size_[0])
      std::fill_n(to, plane_, T(0));
    if (!width) continue;
    for (int64_t z = begin_[0]; z < end_[0]; ++z)
      for (int64_t y = begin_[1]; y < end_[1]; ++y)
        std::memcpy(to + ((z + s_.padding[0]) * size_[1] + y + s_.padding[1]) * size_[2] + begin_[2] + s_.padding[2],
                    image + ((c * s_.in[0] + z) * s_.in[1] + y) * s_.in[2] + begin_[2], std::size_t(width) * sizeof(T));
  }
}

template <class T> void PaddedImage<T>::store(const T* padded, T* image) const {
  const int64_t width = end_[2] - begin_[2];
  const bool all = width == s_.in[2] && end_[1] - begin_[1] == s_.in[1] && end_[0] - begin_[0] == s_.in[0];
  for (int64_t c = 0; c < channels_; ++c) {
    if (!all) std::fill_n(image + c * s_.in_size(), s_.in_size(), T(0));
    if (!width) continue;
    for (int64_t z = begin_[0]; z < end_[0]; ++z)
      for (int64_t y = begin_[1]; y < end_[1]; ++y)
        std::memcpy(image + ((c * s_.in[0] + z) * s_.in[1] + y) * s_.in[2] + begin_[2],
                    padded + c * plane_ + ((z + s_.padding[0]) * size_[1] + y + s_.padding[1]) * size_[2] + begin_[2] +
                        s_.padding[2],
                    std::size_t(width) * sizeof(T));
  }
}

template <class T> void PaddedImage<T>::offsets(int64_t* to) const {
  for (int64_t c = 0; c < channels_; ++c)
    for (int64_t z = 0; z < s_.kernel[0]; ++z)
      for (int64_t y = 0; y < s_.kernel[1]; ++y)
        for (int64_t x = 0; x < s_.kernel[2]; ++x)
          *to++ = c * plane_ + (z * s_.dilation[0] * size_[1] + y * s_.dilation[1]) * size_[2] + x * s_.dilation[2];
}

template <class T> int64_t PaddedImage<T>::segments(int64_t begin, int64_t end, Segment* to) const {
  const int64_t width = s_.out[2];
  int64_t count = 0, x = begin % width, line = begin / width, y = line % s_.out[1], z = line / s_.out[1];
  for (int64_t p = begin; p < end;) {
    const int64_t size = std::min(width - x, end - p);
    const int64_t from = (z * s_.stride[0] * size_[1] + y * s_.stride[1]) * size_[2] + x * s_.stride[2];
    if (count && s_.stride[2] == 1 && to[count - 1].from + to[count - 1].size == from) to[count - 1].size += size;
    else to[count++] = {from, p - begin, size};
    p += size, x = 0;
    if (++y == s_.out[1]) y = 0, ++z;
  }
  return count;
}

template class PaddedImage<float>;
template class PaddedImage<double>;

}  // namespace neura
