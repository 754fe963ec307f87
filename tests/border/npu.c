/* A back end in plain C, as docs/backend.md tells how to write one: two device types in ordinary memory behind
 * addresses that nobody else can follow. "npu" has two devices and some kernels, streams and collectives of one rank;
 * "fpga" has one device and no kernel at all. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "neura/backend/border.h"

/* A device's address is the host's plus a distance that leads out of every process: whoever follows it crashes. */
#define DISTANCE ((uintptr_t)1 << 52)
static char* here(const void* device_address) { return (char*)((uintptr_t)device_address - DISTANCE); }

typedef struct kind { /* what `self` points to */
  atomic_llong held, peak, kernels;
  atomic_int fails; /* a test asks for failures */
} kind;
enum { HEAD = 64 }; /* bytes before each block, where its size stands */
static const uint64_t total = (uint64_t)1 << 30;

static int allocate(void* self, int32_t device, size_t bytes, void** data, neura_error* error) {
  kind* k = self;
  char* block = bytes > total || k->fails ? NULL : aligned_alloc(64, (bytes + HEAD + 63) / 64 * 64);
  if (!block) {
    snprintf(error->text, sizeof error->text, "expected %zu bytes on device %d, got none", bytes, (int)device);
    return NEURA_NO_MEMORY;
  }
  memcpy(block, &bytes, sizeof bytes);
  const long long now = atomic_fetch_add(&k->held, (long long)bytes) + (long long)bytes;
  if (now > k->peak) k->peak = now;
  *data = (void*)((uintptr_t)block + HEAD + DISTANCE);
  return NEURA_OK;
}
static void release(void* self, int32_t device, void* data) {
  size_t bytes;
  (void)device;
  memcpy(&bytes, here(data) - HEAD, sizeof bytes);
  atomic_fetch_sub(&((kind*)self)->held, (long long)bytes);
  free(here(data) - HEAD);
}
static int copy_in(void* self, int32_t device, void* to, const void* from, size_t bytes, neura_error* error) {
  (void)self, (void)device, (void)error;
  memcpy(here(to), from, bytes);
  return NEURA_OK;
}
static int copy_out(void* self, int32_t device, void* to, const void* from, size_t bytes, neura_error* error) {
  (void)self, (void)device, (void)error;
  memcpy(to, here(from), bytes);
  return NEURA_OK;
}
static int copy_within(void* self, int32_t device, void* to, const void* from, size_t bytes, neura_error* error) {
  (void)self, (void)device, (void)error;
  memmove(here(to), here(from), bytes);
  return NEURA_OK;
}
static int memory(void* self, int32_t device, neura_memory* m) {
  kind* k = self;
  (void)device;
  m->allocated = (uint64_t)k->held, m->allocated_peak = (uint64_t)k->peak, m->total = total;
  return NEURA_OK;
}

/* Elements of float32 and float64. */
static double load(const neura_view* v, int64_t at) {
  if (v->dtype == NEURA_FLOAT64) return *(const double*)(const void*)(here(v->data) + at);
  return *(const float*)(const void*)(here(v->data) + at);
}
static void store(const neura_view* v, int64_t at, double value) {
  if (v->dtype == NEURA_FLOAT64) *(double*)(void*)(here(v->data) + at) = value;
  else *(float*)(void*)(here(v->data) + at) = (float)value;
}

static int begin(kind* k, const neura_call* c) {
  if (k->fails) {
    snprintf(c->error->text, sizeof c->error->text, "expected the device to work, got a failure that a test asked for");
    return NEURA_FAILED;
  }
  atomic_fetch_add(&k->kernels, 1);
  if (c->stream) ++*(int64_t*)c->stream; /* how much work it had */
  return NEURA_OK;
}

/* out = f(in[0], in[1], in[2]), element by element; an operand may be a number of the host, or not there. */
static int pointwise(kind* k, const neura_call* c, double (*f)(const double*)) {
  const neura_view* out = c->out;
  int64_t at[64] = {0}, offset[4] = {0}; /* of the operands, and of the result last */
  double x[3] = {0};
  const int status = begin(k, c);
  if (status) return status;
  for (int i = 0; i < c->inputs; ++i)
    if (c->in[i].on_host) x[i] = c->host->number(&c->in[i]);
  for (int64_t n = out->count; n > 0; --n) {
    for (int i = 0; i < c->inputs; ++i)
      if (c->in[i].data && !c->in[i].on_host) x[i] = load(&c->in[i], offset[i]);
    store(out, offset[3], f(x));
    for (int d = out->rank - 1; d >= 0; --d) { /* to the next element */
      const int ends = ++at[d] == out->sizes[d];
      const int64_t steps = ends ? 1 - at[d] : 1;
      for (int i = 0; i < c->inputs; ++i)
        if (c->in[i].data) offset[i] += steps * c->in[i].strides[d];
      offset[3] += steps * out->strides[d];
      if (!ends) break;
      at[d] = 0;
    }
  }
  return NEURA_OK;
}
static double sum_of(const double* x) { return x[0] + x[1]; }
static int add(void* self, const neura_call* c) { return pointwise(self, c, sum_of); }
static double product_of(const double* x) { return x[0] * x[1]; }
static double positive_of(const double* x) { return x[0] > 0 || x[0] != x[0] ? x[0] : 0; }
static double same(const double* x) { return x[0]; }
static int mul(void* self, const neura_call* c) { return pointwise(self, c, product_of); }
static int relu(void* self, const neura_call* c) { return pointwise(self, c, positive_of); }
static int copy(void* self, const neura_call* c) { return pointwise(self, c, same); }
/* Derivatives: what arrives, the operands, the result; what they do not read is absent. */
static double through_relu(const double* x) { return x[2] <= 0 ? 0 : x[0]; }
static int relu_backward(void* self, const neura_call* c) { return pointwise(self, c, through_relu); }

/* Matrices alone: whatever else there is (batches) is for others. */
static int matmul(void* self, const neura_call* c) {
  const neura_view *a = &c->in[0], *b = &c->in[1], *y = &c->out[0];
  if (a->rank != 2 || b->rank != 2) return NEURA_NONE;
  const int status = begin(self, c);
  if (status) return status;
  for (int64_t i = 0; i < y->sizes[0]; ++i)
    for (int64_t j = 0; j < y->sizes[1]; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < a->sizes[1]; ++k)
        sum += load(a, i * a->strides[0] + k * a->strides[1]) * load(b, k * b->strides[0] + j * b->strides[1]);
      store(y, i * y->strides[0] + j * y->strides[1], sum);
    }
  return NEURA_OK;
}
static int sum(void* self, const neura_call* c) {
  const neura_view *x = &c->in[0], *y = &c->out[0];
  int64_t dims, keepdim, at[64] = {0};
  if (!neura_integer(c, "dims", &dims) || !neura_integer(c, "keepdim", &keepdim)) return NEURA_NONE;
  const int status = begin(self, c);
  if (status) return status;
  for (int64_t i = 0; i < y->count; ++i) store(y, i * y->item, 0); /* a new result is contiguous */
  for (int64_t n = x->count; n > 0; --n) {
    int64_t from = 0, to = 0;
    for (int d = 0, k = 0; d < x->rank; ++d) {
      const int reduced = (int)(dims >> d & 1);
      from += at[d] * x->strides[d];
      if (!reduced) to += at[d] * y->strides[k];
      k += !reduced || keepdim;
    }
    store(y, to, load(y, to) + load(x, from));
    for (int d = x->rank - 1; d >= 0 && ++at[d] == x->sizes[d]; --d) at[d] = 0;
  }
  return NEURA_OK;
}

/* Streams do all at once, and count. */
static int create(void* self, int32_t device, void** stream, neura_error* error) {
  (void)self, (void)device, (void)error;
  *stream = calloc(1, sizeof(int64_t));
  return *stream ? NEURA_OK : NEURA_NO_MEMORY;
}
static void destroy(void* self, int32_t device, void* stream) {
  (void)self, (void)device;
  free(stream);
}
static int nothing_to_wait_for(void* self, int32_t device, void* stream, neura_error* error) {
  (void)self, (void)device, (void)stream, (void)error;
  return NEURA_OK;
}
static int mark(void* self, int32_t device, void* a, void* b, neura_error* error) {
  (void)self, (void)device, (void)a, (void)b, (void)error;
  return NEURA_OK;
}

/* Collectives of one rank: what it sends comes back to itself. */
typedef struct comm {
  char* sent;
  size_t bytes;
} comm;
static size_t bytes_of(int64_t count, int32_t dtype) {
  return (size_t)count * (dtype == NEURA_FLOAT64 || dtype == NEURA_INT64 ? 8 : 4);
}
static int open_group(void* self, int32_t device, const char* group, int32_t rank, int32_t ranks, void** made,
                      neura_error* error) {
  (void)self, (void)device, (void)group;
  if (rank != 0 || ranks != 1) {
    snprintf(error->text, sizeof error->text, "expected rank 0 of 1, got %d of %d", (int)rank, (int)ranks);
    return NEURA_FAILED;
  }
  *made = calloc(1, sizeof(comm));
  return NEURA_OK;
}
static void close_group(void* self, void* c) {
  (void)self;
  free(((comm*)c)->sent);
  free(c);
}
static int reduce(void* self, void* c, const void* from, void* to, int64_t count, int32_t dtype, int32_t reduction,
                  void* stream, neura_error* error) {
  (void)self, (void)c, (void)reduction, (void)stream, (void)error;
  memmove(here(to), here(from), bytes_of(count, dtype));
  return NEURA_OK;
}
static int gather(void* self, void* c, const void* from, void* to, int64_t count, int32_t dtype, void* stream,
                  neura_error* error) {
  return reduce(self, c, from, to, count, dtype, NEURA_SUM, stream, error);
}
static int broadcast(void* self, void* c, void* data, int64_t count, int32_t dtype, int32_t root, void* stream,
                     neura_error* error) {
  (void)self, (void)c, (void)data, (void)count, (void)dtype, (void)root, (void)stream, (void)error;
  return NEURA_OK;
}
static int send(void* self, void* c, const void* from, int64_t count, int32_t dtype, int32_t peer, void* stream,
                neura_error* error) {
  comm* m = c;
  (void)self, (void)peer, (void)stream, (void)error;
  free(m->sent);
  m->bytes = bytes_of(count, dtype), m->sent = malloc(m->bytes + 1);
  memcpy(m->sent, here(from), m->bytes);
  return NEURA_OK;
}
static int receive(void* self, void* c, void* to, int64_t count, int32_t dtype, int32_t peer, void* stream,
                   neura_error* error) {
  comm* m = c;
  (void)self, (void)peer, (void)stream;
  if (m->bytes != bytes_of(count, dtype)) {
    snprintf(error->text, sizeof error->text, "expected as many bytes as were sent, got another number");
    return NEURA_FAILED;
  }
  memcpy(here(to), m->sent, m->bytes);
  return NEURA_OK;
}

enum { FLOATS = 1u << NEURA_FLOAT32 | 1u << NEURA_FLOAT64 };
static const neura_kernel kernels[] = {
    {"add", FLOATS, add},   {"mul", FLOATS, mul},
    {"relu", FLOATS, relu}, {"relu_backward", FLOATS, relu_backward},
    {"copy", FLOATS, copy}, {"matmul", FLOATS, matmul},
    {"sum", FLOATS, sum},
};
static const neura_streams streams = {sizeof streams, create,  destroy, nothing_to_wait_for,
                                      create,         destroy, mark,    mark};
static const neura_collectives collectives = {
    sizeof collectives, open_group, close_group, reduce, broadcast, gather, reduce, send, receive};
static kind npu, fpga;

int neura_backend(const neura_host* host, neura_error* error) {
  neura_device_type type = {
      .size = sizeof type, .version = NEURA_BORDER_VERSION, .name = "npu", .self = &npu, .devices = 2};
  type.allocate = allocate, type.release = release;
  type.copy_in = copy_in, type.copy_out = copy_out, type.copy = copy_within;
  type.memory = memory;
  type.kernels = kernels, type.kernel_count = sizeof kernels / sizeof *kernels;
  type.streams = &streams, type.collectives = &collectives;
  const int status = host->add_device_type(&type, error);
  if (status) return status;
  neura_device_type bare = {
      .size = sizeof bare, .version = NEURA_BORDER_VERSION, .name = "fpga", .self = &fpga, .devices = 1};
  bare.allocate = allocate, bare.release = release, bare.copy_in = copy_in, bare.copy_out = copy_out;
  return host->add_device_type(&bare, error);
}

/* For the tests. */
NEURA_EXPORT long long npu_kernel_calls(void) { return npu.kernels; }
NEURA_EXPORT void npu_fail(int on) { npu.fails = on; }
