/* Models of files in programs of any language: a C interface to Neura, in C99. Link libneura_c.
 *
 *   neura_model* model;
 *   neura_session* session;
 *   if (neura_open(NEURA_ABI, "net.neura", NULL, &model) || neura_session_open(model, &session)) {
 *     puts(neura_message());
 *     return 1;
 *   }
 *
 * A model is a file .neura, or .onnx where the library has that part. Tensors go in and come out as DLPack has them
 * (version 1 of the published layout), which NumPy, PyTorch and others read and write.
 *
 * Functions that return int give 0, or a neura_code; neura_message() then says why, in one sentence. Nothing was
 * changed then, and what would have been given back is null. Every function may be called by any thread. A null pointer
 * where something is expected is an error; a handle that was closed must not be used again. */
#ifndef NEURA_CAPI_NEURA_H
#define NEURA_CAPI_NEURA_H

#include <stddef.h> /* NOLINT: a header for C */
#include <stdint.h> /* NOLINT: as above */

/* DLPack's structs. A program that has dlpack.h includes it before this header, whose own are then left out. */
#ifndef DLPACK_DLPACK_H_
#ifdef __cplusplus
extern "C" {
#endif
typedef struct DLPackVersion {
  uint32_t major, minor;
} DLPackVersion;
#ifdef __cplusplus
typedef enum DLDeviceType : int32_t { kDLCPU = 1, kDLCUDA = 2 } DLDeviceType;
#else
typedef enum DLDeviceType { kDLCPU = 1, kDLCUDA = 2 } DLDeviceType;
#endif
typedef struct DLDevice {
  DLDeviceType device_type;
  int32_t device_id;
} DLDevice;
typedef enum DLDataTypeCode {
  kDLInt = 0,
  kDLUInt = 1,
  kDLFloat = 2,
  kDLBfloat = 4,
  kDLComplex = 5,
  kDLBool = 6
} DLDataTypeCode;
typedef struct DLDataType {
  uint8_t code;   /* DLDataTypeCode */
  uint8_t bits;   /* of one element: float32 is {kDLFloat, 32, 1} */
  uint16_t lanes; /* 1 */
} DLDataType;
typedef struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides; /* in elements; null: rows lie one after the other */
  uint64_t byte_offset;
} DLTensor;
typedef struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned* self);
  uint64_t flags;
  DLTensor dl_tensor;
} DLManagedTensorVersioned;
#ifdef __cplusplus
}
#endif
#endif

#if defined(__GNUC__)
#define NEURA_C_API __attribute__((visibility("default")))
#else
#define NEURA_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface, which a program passes to neura_open: it rises when a struct or a function changes its
 * meaning. A library takes programs of its own version and of older ones. */
enum { NEURA_ABI = 1 };

/* What functions return. */
typedef enum neura_code {
  NEURA_DONE = 0,
  NEURA_E_VALUE = 1,           /* an invalid argument: null, a count, a device's name */
  NEURA_E_DTYPE = 2,           /* a tensor of another dtype */
  NEURA_E_SHAPE = 3,           /* a tensor of other sizes */
  NEURA_E_DEVICE = 4,          /* no such device, or memory of another one */
  NEURA_E_INDEX = 5,           /* an index outside of its range, also in a tensor */
  NEURA_E_IO = 6,              /* the system refused: no such file, no permission */
  NEURA_E_FORMAT = 7,          /* a file that is damaged, or another kind of file */
  NEURA_E_NOT_IMPLEMENTED = 8, /* a model, or a part of it, that this build does not run */
  NEURA_E_MEMORY = 9,
  NEURA_E_ABI = 10,  /* the program was compiled for another version of this interface */
  NEURA_E_OTHER = 11 /* anything else */
} neura_code;

typedef struct neura_model neura_model;     /* a file's program and weights; never changed */
typedef struct neura_session neura_session; /* what runs it, with the memory that runs write, if the model has such */

typedef struct neura_options {
  const char* device; /* "cpu", "cuda", "cuda:1"; null: a program's own, an ONNX model's the cpu */
  int32_t trusted;    /* 1: a file of your own, which may also call operations that are not checked in files */
  int32_t verify;     /* 1: weights are read and compared with their hash; 0: of a file, mapped, and read when used */
  int32_t borrow;     /* of neura_open_bytes, 1: bytes outlive the model and its sessions, and are not copied */
  int32_t reserved;   /* 0 */
} neura_options;

/* An input or output. What it points to lives as long as the model. */
typedef struct neura_port {
  const char* name;
  DLDataType dtype;     /* all 0: only a run shows it */
  int32_t ndim;         /* -1: only a run shows it */
  const int64_t* sizes; /* -1: any size */
} neura_port;

/* NEURA_ABI of the library. */
NEURA_C_API uint32_t neura_abi(void);
/* Its version, such as "0.1.0". */
NEURA_C_API const char* neura_version(void);
/* The sentence of the last error of this thread, until its next one; "" before the first. */
NEURA_C_API const char* neura_message(void);

/* How many threads a run may use: at first, as many as this process may have processors. For the whole process; with
 * many runs at once, 1 is often the fastest. */
NEURA_C_API int neura_set_threads(int32_t threads);
NEURA_C_API int32_t neura_threads(void);

/* Opens a file, .neura or .onnx; abi is NEURA_ABI. Options may be null: all are 0. A mapped file must not be shortened
 * while it is open. */
NEURA_C_API int neura_open(uint32_t abi, const char* path, const neura_options* options, neura_model** model);
/* The same of a file in memory; its kind is seen from its bytes. An ONNX model has all weights within. */
NEURA_C_API int neura_open_bytes(uint32_t abi, const void* bytes, size_t size, const neura_options* options,
                                 neura_model** model);
/* Lets go of it; null does nothing. Its sessions live on. */
NEURA_C_API void neura_close(neura_model* model);

/* 0 for null. */
NEURA_C_API size_t neura_input_count(const neura_model* model);
NEURA_C_API size_t neura_output_count(const neura_model* model);
NEURA_C_API int neura_input(const neura_model* model, size_t index, neura_port* port);
NEURA_C_API int neura_output(const neura_model* model, size_t index, neura_port* port);
/* What a program's file says of itself under a key of its author ("licence"); null where there is no such key. */
NEURA_C_API int neura_metadata(const neura_model* model, const char* key, const char** value);

/* Any number of sessions share a model's weights. Any number of threads may use one session at once; where a model
 * writes memory of its own, such as a state that it carries from run to run, each session has its own, and its runs
 * wait for each other. */
NEURA_C_API int neura_session_open(const neura_model* model, neura_session** session);
/* Lets go of it, when no run uses it; null does nothing. */
NEURA_C_API void neura_session_close(neura_session* session);

/* Runs the model once. Inputs, one for each of the model's and in their order, are memory of the cpu, borrowed for the
 * call and never written; they are not copied where rows lie one after the other and the model computes on the cpu.
 * Outputs are new tensors on the cpu, one for each of the model's, rows one after the other: the caller gives each back
 * by neura_release(), or hands it to whoever takes DLPack's tensors. */
NEURA_C_API int neura_run(neura_session* session, const DLTensor* const* inputs, size_t input_count,
                          DLManagedTensorVersioned** outputs, size_t output_count);
/* Calls the tensor's deleter; null does nothing. */
NEURA_C_API void neura_release(DLManagedTensorVersioned* tensor);

/* What the process holds of this library: for tests that nothing is left. */
typedef enum neura_kind { NEURA_MODELS, NEURA_SESSIONS, NEURA_TENSORS } neura_kind;
NEURA_C_API int64_t neura_live(int32_t kind); /* -1 for no such kind */

#ifdef __cplusplus
}
#endif
#endif
