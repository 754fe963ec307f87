#include "tests/capi/use.h"

#include <string.h>

#include "neura/backend/border.h" /* both may be in one program */
#include "neura/capi/neura.h"

#define EXPECT(claim) \
  if (!(claim)) return __LINE__
#define REFUSED(code, call, words) EXPECT((call) == (code) && strstr(neura_message(), words))

static DLTensor matrix(float* data, int64_t* sizes) {
  DLTensor t;
  memset(&t, 0, sizeof t);
  t.data = data;
  t.device.device_type = kDLCPU;
  t.ndim = 2;
  t.dtype.code = kDLFloat, t.dtype.bits = 32, t.dtype.lanes = 1;
  t.shape = sizes;
  return t;
}

int use_model(const char* file) {
  neura_model* model;
  neura_session* session;
  neura_port port;
  const char* text;
  float x[6] = {1, 2, 3, 4, 5, 6};
  int64_t sizes[2] = {2, 3};
  DLTensor input = matrix(x, sizes);
  const DLTensor* inputs[1];
  DLManagedTensorVersioned* outputs[1];
  const float* y;
  int i;
  inputs[0] = &input;
  EXPECT(neura_abi() == NEURA_ABI && strlen(neura_version()) >= 5);
  EXPECT(neura_open(NEURA_ABI, file, NULL, &model) == NEURA_DONE);
  EXPECT(neura_input_count(model) == 1 && neura_output_count(model) == 1);
  EXPECT(neura_input(model, 0, &port) == NEURA_DONE && !strcmp(port.name, "x"));
  EXPECT(port.dtype.code == kDLFloat && port.dtype.bits == 32 && port.dtype.lanes == 1);
  EXPECT(port.ndim == 2 && port.sizes[0] == 2 && port.sizes[1] == 3);
  EXPECT(neura_output(model, 0, &port) == NEURA_DONE && !strcmp(port.name, "y") && port.ndim == 2);
  EXPECT(neura_metadata(model, "licence", &text) == NEURA_DONE && !strcmp(text, "mine"));
  EXPECT(neura_metadata(model, "colour", &text) == NEURA_DONE && !text);
  EXPECT(neura_session_open(model, &session) == NEURA_DONE);
  EXPECT(neura_live(NEURA_MODELS) == 1 && neura_live(NEURA_SESSIONS) == 1);
  neura_close(model); /* the session lives on */
  EXPECT(neura_run(session, inputs, 1, outputs, 1) == NEURA_DONE);
  EXPECT(outputs[0]->version.major == 1 && outputs[0]->flags == 0);
  EXPECT(outputs[0]->dl_tensor.ndim == 2 && outputs[0]->dl_tensor.shape[1] == 3);
  EXPECT(outputs[0]->dl_tensor.strides[0] == 3 && outputs[0]->dl_tensor.device.device_type == kDLCPU);
  neura_session_close(session);
  y = (const float*)outputs[0]->dl_tensor.data; /* outlives its session */
  for (i = 0; i < 6; ++i) EXPECT(y[i] == 2 * x[i] + (float)(i % 3) && x[i] == (float)(i + 1));
  EXPECT(neura_live(NEURA_TENSORS) == 1);
  neura_release(outputs[0]);
  EXPECT(neura_live(NEURA_MODELS) == 0 && neura_live(NEURA_SESSIONS) == 0 && neura_live(NEURA_TENSORS) == 0);
  EXPECT(neura_live(3) == -1);
  return 0;
}

int misuse(const char* file) {
  neura_model *model, *none = NULL;
  neura_session* session;
  neura_port port;
  neura_options options;
  const char* text;
  REFUSED(NEURA_E_ABI, neura_open(NEURA_ABI + 1, file, NULL, &model), "NEURA_ABI");
  EXPECT(!model);
  REFUSED(NEURA_E_ABI, neura_open(0, file, NULL, &model), "got 0");
  REFUSED(NEURA_E_VALUE, neura_open(NEURA_ABI, NULL, NULL, &model), "neura_open: expected a path, got null");
  REFUSED(NEURA_E_VALUE, neura_open(NEURA_ABI, file, NULL, NULL), "expected a place for the model");
  REFUSED(NEURA_E_VALUE, neura_open(NEURA_ABI, "net.txt", NULL, &model), "expected a file .neura or .onnx");
  REFUSED(NEURA_E_IO, neura_open(NEURA_ABI, "/nowhere/net.neura", NULL, &model), "/nowhere/net.neura");
  REFUSED(NEURA_E_VALUE, neura_open_bytes(NEURA_ABI, NULL, 1, NULL, &model), "expected bytes, got null");
  EXPECT(neura_open_bytes(NEURA_ABI, "\0\0\0\0\0\0\0\0{", 9, NULL, &model) == NEURA_E_FORMAT);
  memset(&options, 0, sizeof options);
  options.device = "cuda:7";
  REFUSED(NEURA_E_DEVICE, neura_open(NEURA_ABI, file, &options, &model), "expected a program of the device cuda:7");
  options.device = "gpu";
  EXPECT(neura_open(NEURA_ABI, file, &options, &model) == NEURA_E_DEVICE);
  EXPECT(neura_input_count(NULL) == 0 && neura_output_count(NULL) == 0);
  REFUSED(NEURA_E_VALUE, neura_input(NULL, 0, &port), "neura_input: expected a model, got null");
  REFUSED(NEURA_E_VALUE, neura_session_open(NULL, &session), "expected a model");
  EXPECT(!session);
  EXPECT(neura_open(NEURA_ABI, file, NULL, &model) == NEURA_DONE);
  REFUSED(NEURA_E_INDEX, neura_input(model, 1, &port), "neura_input: expected an index below 1, got 1");
  REFUSED(NEURA_E_VALUE, neura_output(model, 0, NULL), "expected a place for the port");
  REFUSED(NEURA_E_VALUE, neura_metadata(model, NULL, &text), "expected a key");
  REFUSED(NEURA_E_VALUE, neura_metadata(model, "licence", NULL), "expected a place for the text");
  REFUSED(NEURA_E_VALUE, neura_session_open(model, NULL), "expected a place for the session");
  REFUSED(NEURA_E_VALUE, neura_set_threads(0), "set_num_threads");
  neura_close(model);
  neura_close(none), neura_session_close(NULL), neura_release(NULL);
  EXPECT(neura_live(NEURA_MODELS) == 0 && neura_live(NEURA_SESSIONS) == 0);
  return 0;
}

int misuse_tensors(const char* file) {
  neura_model* model;
  neura_session* session;
  float x[12] = {0};
  int64_t sizes[2] = {2, 3}, others[2] = {3, 2}, strides[2] = {-3, 1}, wide[2] = {6, 2};
  DLTensor right = matrix(x, sizes), t = right;
  const DLTensor *inputs[1], *nothing[1] = {NULL};
  DLManagedTensorVersioned* outputs[1];
  inputs[0] = &t;
  EXPECT(neura_open(NEURA_ABI, file, NULL, &model) == NEURA_DONE);
  EXPECT(neura_session_open(model, &session) == NEURA_DONE);
  REFUSED(NEURA_E_VALUE, neura_run(NULL, inputs, 1, outputs, 1), "expected a session, got null");
  EXPECT(!outputs[0]);
  REFUSED(NEURA_E_VALUE, neura_run(session, inputs, 0, outputs, 1), "expected 1 inputs, got 0");
  REFUSED(NEURA_E_VALUE, neura_run(session, inputs, 1, outputs, 0), "expected 1 places for outputs, got 0");
  REFUSED(NEURA_E_VALUE, neura_run(session, NULL, 1, outputs, 1), "expected inputs, got null");
  REFUSED(NEURA_E_VALUE, neura_run(session, inputs, 1, NULL, 1), "expected places for outputs, got null");
  REFUSED(NEURA_E_VALUE, neura_run(session, nothing, 1, outputs, 1),
          "neura_run: expected float32 [2, 3] as \"x\", got null");
  t.dtype.bits = 64;
  REFUSED(NEURA_E_DTYPE, neura_run(session, inputs, 1, outputs, 1), "as \"x\", got float64");
  t.dtype.bits = 32, t.dtype.lanes = 4;
  REFUSED(NEURA_E_DTYPE, neura_run(session, inputs, 1, outputs, 1), "code 2, 32 bits, 4 lanes");
  t = right, t.shape = others;
  REFUSED(NEURA_E_SHAPE, neura_run(session, inputs, 1, outputs, 1), "as \"x\", got [3, 2]");
  t.ndim = 1;
  REFUSED(NEURA_E_SHAPE, neura_run(session, inputs, 1, outputs, 1), "as \"x\", got [3]");
  t.ndim = 70000;
  REFUSED(NEURA_E_SHAPE, neura_run(session, inputs, 1, outputs, 1), "got 70000 dimensions");
  t.ndim = -1;
  REFUSED(NEURA_E_SHAPE, neura_run(session, inputs, 1, outputs, 1), "got -1 dimensions");
  t = right, t.shape = NULL;
  REFUSED(NEURA_E_VALUE, neura_run(session, inputs, 1, outputs, 1), "whose shape is null");
  t = right, t.data = NULL;
  REFUSED(NEURA_E_VALUE, neura_run(session, inputs, 1, outputs, 1), "whose data is null");
  t = right, t.device.device_type = kDLCUDA;
  REFUSED(NEURA_E_DEVICE, neura_run(session, inputs, 1, outputs, 1), "got memory of device type 2");
  t = right, t.strides = strides;
  REFUSED(NEURA_E_VALUE, neura_run(session, inputs, 1, outputs, 1), "got a stride of -3");
  EXPECT(!outputs[0] && neura_live(NEURA_TENSORS) == 0);
  t.strides = wide; /* every second number */
  x[0] = 1, x[1] = 9, x[2] = 2, x[4] = 3, x[10] = 6;
  EXPECT(neura_run(session, inputs, 1, outputs, 1) == NEURA_DONE);
  EXPECT(((float*)outputs[0]->dl_tensor.data)[1] == 5 && ((float*)outputs[0]->dl_tensor.data)[5] == 14);
  neura_release(outputs[0]);
  neura_session_close(session), neura_close(model);
  return 0;
}
