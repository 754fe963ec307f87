/* The border of back ends, in plain C: what a device type hands to Neura, and what Neura hands to its kernels.
 *
 * A back end is a shared library that exports neura_backend(); NEURA_BACKENDS names such libraries, load_backend()
 * loads one. It registers any number of device types with the host's add_device_type. docs/backend.md is the guide.
 *
 * Every table begins with its size in bytes as its author compiled it. Tables only grow at the end: what a smaller one
 * lacks counts as null. Functions return a neura_status, and say why in `error` where it is an error. They are called
 * by any thread, and throw nothing. */
#ifndef NEURA_BACKEND_BORDER_H
#define NEURA_BACKEND_BORDER_H

#include <stddef.h> /* NOLINT: a header for C */
#include <stdint.h> /* NOLINT: as above */

#ifdef __cplusplus
extern "C" {
#endif

enum { NEURA_BORDER_VERSION = 1 }; /* rises when a table changes other than by growing */

typedef enum neura_status {
  NEURA_OK = 0,
  NEURA_NONE = 1,      /* of a kernel that wrote nothing: not for these operands */
  NEURA_FAILED = 2,    /* the device could not: DeviceError */
  NEURA_NO_MEMORY = 3, /* OutOfMemoryError */
  NEURA_BAD_INDEX = 4  /* an operand holds an index outside of its range: IndexError */
} neura_status;

typedef enum neura_dtype {
  NEURA_BOOL,
  NEURA_UINT8,
  NEURA_INT8,
  NEURA_INT16,
  NEURA_INT32,
  NEURA_INT64,
  NEURA_FLOAT16,
  NEURA_BFLOAT16,
  NEURA_FLOAT32,
  NEURA_FLOAT64,
  NEURA_COMPLEX64,
  NEURA_COMPLEX128,
  NEURA_FLOAT8_E4M3,
  NEURA_FLOAT8_E5M2,
  NEURA_UINT16,
  NEURA_UINT32,
  NEURA_UINT64
} neura_dtype;

typedef struct neura_error {
  char text[480]; /* one sentence, "expected <what>, got <what>"; the operation's name is put in front */
} neura_error;

/* What a kernel sees of a tensor. */
typedef struct neura_view {
  void* data;             /* the first element, in the device's memory; null: an absent operand */
  int32_t dtype;          /* neura_dtype */
  int32_t rank;           /* -1 of an absent operand */
  int32_t on_host;        /* one number in the host's memory; its strides are 0 */
  int32_t item;           /* bytes of an element */
  int64_t count;          /* elements */
  const int64_t* sizes;   /* `rank` of them */
  const int64_t* strides; /* `rank` of them, in bytes, none negative; 0 where the operand is broadcast */
} neura_view;

typedef struct neura_host neura_host;

/* One use of an operation. Views, sizes and strides live as long as the call of the kernel. */
typedef struct neura_call {
  size_t size;
  const char* name; /* of the operation */
  int32_t device;   /* which one of its type, from 0 */
  int32_t inputs, outputs;
  /* Of a pointwise operation: all operands have the rank and the sizes of the result, with dimensions merged and sorted
   * by their strides. Results never overlap an operand, unless they are the same elements in the same order. */
  int32_t pointwise;
  const neura_view *in, *out;
  void* stream;           /* the thread's current stream of this device; null: the default one */
  const neura_host* host; /* for neura_integer() and its kind, below */
  const void* attributes; /* Neura's own */
  neura_error* error;     /* to be filled in before an error is returned */
} neura_call;

/* A kernel of one operation by its name ("add", "matmul"). The derivative of a pointwise one is "relu_backward" and,
 * for each of several operands, "mul_backward_1"; its operands: what arrives, those of mul, its result, absent what it
 * does not read. "copy" is out = in, converted and broadcast; in may be a number on the host. */
typedef struct neura_kernel {
  const char* name;
  /* Bits 1 << neura_dtype of all operands and results that it takes; 0: it looks at them, and may return NEURA_NONE. */
  uint32_t dtypes;
  int (*run)(void* self, const neura_call*);
} neura_kernel;

typedef struct neura_memory {
  size_t size;
  uint64_t allocated, allocated_peak, total; /* bytes: in tensors, the most of that, of the device */
} neura_memory;

/* Optional. Queues of work and marks in them. Handles are the device's own. */
typedef struct neura_streams {
  size_t size;
  int (*create)(void* self, int32_t device, void** stream, neura_error*);
  void (*destroy)(void* self, int32_t device, void* stream);
  int (*synchronize)(void* self, int32_t device, void* stream, neura_error*);
  int (*create_event)(void* self, int32_t device, void** event, neura_error*);
  void (*destroy_event)(void* self, int32_t device, void* event);
  int (*record)(void* self, int32_t device, void* event, void* stream, neura_error*);
  int (*wait)(void* self, int32_t device, void* stream, void* event,
              neura_error*); /* what the stream gets from now on */
} neura_streams;

typedef enum neura_reduction { NEURA_SUM, NEURA_PRODUCT, NEURA_MIN, NEURA_MAX, NEURA_MEAN } neura_reduction;

/* Optional. Every rank calls the same function with the same count; memory is the device's. */
typedef struct neura_collectives {
  size_t size;
  int (*open)(void* self, int32_t device, const char* group, int32_t rank, int32_t ranks, void** comm, neura_error*);
  void (*close)(void* self, void* comm);
  int (*all_reduce)(void* self, void* comm, const void* from, void* to, int64_t count, int32_t dtype, int32_t reduction,
                    void* stream, neura_error*);
  int (*broadcast)(void* self, void* comm, void* data, int64_t count, int32_t dtype, int32_t root, void* stream,
                   neura_error*);
  int (*all_gather)(void* self, void* comm, const void* from, void* to, int64_t count, int32_t dtype, void* stream,
                    neura_error*); /* count: of one rank */
  int (*reduce_scatter)(void* self, void* comm, const void* from, void* to, int64_t count, int32_t dtype,
                        int32_t reduction, void* stream, neura_error*); /* count: of one rank */
  int (*send)(void* self, void* comm, const void* from, int64_t count, int32_t dtype, int32_t peer, void* stream,
              neura_error*);
  int (*receive)(void* self, void* comm, void* to, int64_t count, int32_t dtype, int32_t peer, void* stream,
                 neura_error*);
} neura_collectives;

/* A device type. Neura copies the table; what it points to lives as long as the process. */
typedef struct neura_device_type {
  size_t size;
  uint32_t version; /* NEURA_BORDER_VERSION */
  const char* name; /* lower case letters, digits and _: "npu" */
  void* self;       /* given back in every call */
  int32_t devices;  /* how many there are: from 1 to 255 */
  int (*allocate)(void* self, int32_t device, size_t bytes, void** data, neura_error*); /* bytes may be 0 */
  void (*release)(void* self, int32_t device, void* data);
  /* What comes in may be written again, and what goes out is there, when they return. */
  int (*copy_in)(void* self, int32_t device, void* to, const void* from_host, size_t bytes, neura_error*);
  int (*copy_out)(void* self, int32_t device, void* to_host, const void* from, size_t bytes, neura_error*);
  /* Optional from here on. Within one device; without it, through the host. */
  int (*copy)(void* self, int32_t device, void* to, const void* from, size_t bytes, neura_error*);
  int (*synchronize)(void* self, int32_t device, neura_error*); /* without it, nothing is ever waited for */
  int (*memory)(void* self, int32_t device, neura_memory*);
  const neura_kernel* kernels;
  size_t kernel_count;
  const neura_streams* streams;
  const neura_collectives* collectives;
} neura_device_type;

/* What Neura offers. A dotted name finds an attribute within another ("spec.dtype"). */
struct neura_host {
  size_t size;
  uint32_t version;
  int (*add_device_type)(const neura_device_type*, neura_error*);
  /* 1, or 0 where there is no such attribute of that kind: integers, truth values, dtypes; real numbers too. */
  int (*integer)(const neura_call*, const char* name, int64_t* value);
  int (*real)(const neura_call*, const char* name, double* value);
  /* How many integers the list has, of which the first `most` are written; -1 where there is no such list. */
  int64_t (*integers)(const neura_call*, const char* name, int64_t* values, size_t most);
  /* All of them as text, as "dim=1, keepdim=true": writes at most `most` bytes with a 0 at the end, returns the length
   * of all. */
  size_t (*text)(const neura_call*, char* to, size_t most);
  double (*number)(const neura_view*); /* the (real part of the) number of a view with on_host */
};

static inline int neura_integer(const neura_call* c, const char* name, int64_t* value) {
  return c->host->integer(c, name, value);
}
static inline int neura_real(const neura_call* c, const char* name, double* value) {
  return c->host->real(c, name, value);
}
static inline int64_t neura_integers(const neura_call* c, const char* name, int64_t* values, size_t most) {
  return c->host->integers(c, name, values, most);
}

/* Exported by a back end's library; called once, when it is loaded. */
#if defined(__GNUC__)
#define NEURA_EXPORT __attribute__((visibility("default")))
#else
#define NEURA_EXPORT
#endif
typedef int neura_backend_entry(const neura_host*, neura_error*);
NEURA_EXPORT int neura_backend(const neura_host* host, neura_error* error);

/* For a program that is linked with Neura and has a device type of its own. */
NEURA_EXPORT int neura_add_device_type(const neura_device_type*, neura_error*);

#ifdef __cplusplus
}
#endif
#endif
