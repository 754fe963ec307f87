// Everything for programs that use Neura. The library itself includes the family it needs, never this.
#pragma once
#include "neura/autograd/anomaly.h"
#include "neura/autograd/autograd.h"
#include "neura/autograd/function.h"
#include "neura/autograd/gradcheck.h"
#include "neura/core/element.h"
#include "neura/core/error_details.h"
#include "neura/core/memory.h"
#include "neura/core/parallel.h"
#include "neura/core/print.h"
#include "neura/core/random.h"
#include "neura/core/tensor.h"
#include "neura/cuda/graph.h"
#include "neura/cuda/memory.h"
#include "neura/ops/attention.h"
#include "neura/ops/conv.h"
#include "neura/ops/copy.h"
#include "neura/ops/create.h"
#include "neura/ops/dropout.h"
#include "neura/ops/einsum.h"
#include "neura/ops/embedding.h"
#include "neura/ops/embedding_bag.h"
#include "neura/ops/fractional_pool.h"
#include "neura/ops/index.h"
#include "neura/ops/join.h"
#include "neura/ops/linalg.h"
#include "neura/ops/loss.h"
#include "neura/ops/matmul.h"
#include "neura/ops/norm.h"
#include "neura/ops/pool.h"
#include "neura/ops/promotion.h"
#include "neura/ops/random.h"
#include "neura/ops/recurrent.h"
#include "neura/ops/reduce.h"
#include "neura/ops/rows.h"
#include "neura/ops/rows_more.h"
#include "neura/ops/scan.h"
#include "neura/ops/segment.h"
#include "neura/ops/shape.h"
#include "neura/ops/softmax.h"
#include "neura/ops/sort.h"
#include "neura/ops/statistics.h"
#include "neura/ops/to.h"
#include "neura/ops/view.h"
#include "neura/ops/window.h"
// Capabilities that this build may have been made without.
#if __has_include("neura/nn/nn.h")
#include "neura/nn/nn.h"
#endif
#if __has_include("neura/optim/optim.h")
#include "neura/optim/optim.h"
#endif
#if __has_include("neura/data/data.h")
#include "neura/data/data.h"
#endif
#if __has_include("neura/io/io.h")
#include "neura/io/io.h"
#endif
