// A graph of operations on tensors of four dimensions, as cuDNN wants it described.
#pragma once
#include <array>
#include <utility>
#include <vector>

#include "neura/backend/cuda/conv/cudnn.h"

namespace neura::cuda {

using Four = std::array<std::int64_t, 4>;  // of batch, heads, lines, columns
struct StridedShape {
  Four sizes, strides;
};
inline StridedShape dense(const Four& n) { return {n, {n[1] * n[2] * n[3], n[2] * n[3], n[3], 1}}; }
inline StridedShape turned(StridedShape x) {
  return std::swap(x.sizes[2], x.sizes[3]), std::swap(x.strides[2], x.strides[3]), x;
}

// As it grows. A tensor is its place among the parts; those within the graph are in no memory, and get ids of 1000 and
// up.
class CudnnGraph {
 public:
  std::vector<Descriptor> parts;
  explicit CudnnGraph(cudnnDataType_t type) : type_(type) {}

  int tensor(std::int64_t id, cudnnDataType_t type, const StridedShape& l) { return add(describe(id, type, l)); }
  int tensor(std::int64_t id, const StridedShape& l) { return tensor(id, type_, l); }
  int inner(const StridedShape& l, cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    Descriptor t = describe(next_++, type, l);
    return add(std::move(t.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, true)));
  }
  int number(std::int64_t id) {
    Descriptor t = describe(id, CUDNN_DATA_FLOAT, {{1, 1, 1, 1}, {1, 1, 1, 1}});
    return add(std::move(t.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, true)));
  }
  void product(int a, int b, int y) {
    Descriptor m(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    const int how = add(std::move(m.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT)));
    Descriptor op(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    op.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, part(a)).set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, part(b));
    op.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, part(y)).set(CUDNN_ATTR_OPERATION_MATMUL_DESC, part(how));
    operation(std::move(op));
  }
  struct More {
    int b = -1, choice = -1;
    std::int64_t axis = -1;
    cudnnDataType_t computed = CUDNN_DATA_FLOAT;
  };
  int pointwise(cudnnPointwiseMode_t mode, int x, int y, More o) {
    Descriptor p(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    p.set(CUDNN_ATTR_POINTWISE_MODE, mode).set(CUDNN_ATTR_POINTWISE_MATH_PREC, o.computed);
    if (o.axis >= 0) p.set(CUDNN_ATTR_POINTWISE_AXIS, o.axis);
    const int how = add(std::move(p));
    Descriptor op(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    op.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, part(how));
    op.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, part(x)).set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, part(y));
    if (o.b >= 0) op.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, part(o.b));
    if (o.choice >= 0) op.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, part(o.choice));
    op.set(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, 1.0f).set(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, 1.0f);
    return operation(std::move(op)), y;
  }
  int reduce(cudnnReduceTensorOp_t how, int x, int y) {
    Descriptor r(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    r.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT);
    r.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &how);
    const int described = add(std::move(r));
    Descriptor op(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    op.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, part(described));
    op.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, part(x)).set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, part(y));
    return operation(std::move(op)), y;
  }
  int reshape(int x, int y) {
    Descriptor op(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    op.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, part(x)).set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, part(y));
    return operation(std::move(op)), y;
  }
  // The last of the parts; false if cuDNN refuses it.
  bool finish(cudnnHandle_t handle) {
    Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, std::int64_t(operations_.size()),
              operations_.data());
    add(std::move(graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle)));
    for (const Descriptor& d : parts)
      if (!d) return false;
    return true;
  }

 private:
  static Descriptor describe(std::int64_t id, cudnnDataType_t type, const StridedShape& l) {
    Descriptor t(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    t.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type).set(CUDNN_ATTR_TENSOR_DIMENSIONS, l.sizes.data(), 4);
    t.set(CUDNN_ATTR_TENSOR_STRIDES, l.strides.data(), 4).set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
    t.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, std::int64_t{16});
    return t;
  }
  const Descriptor& part(int i) const { return parts[std::size_t(i)]; }
  int add(Descriptor&& d) { return parts.push_back(std::move(d.finish())), int(parts.size()) - 1; }
  void operation(Descriptor&& d) { operations_.push_back(part(add(std::move(d))).raw()); }

  const cudnnDataType_t type_;
  std::vector<cudnnBackendDescriptor_t> operations_;
  std::int64_t next_ = 1000;
};

}  // namespace neura::cuda
