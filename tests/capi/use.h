/* Programs in C99 that use the C interface. Each gives 0, or the line of what is not as it should be. */
#ifndef NEURA_TESTS_CAPI_USE_H
#define NEURA_TESTS_CAPI_USE_H
#ifdef __cplusplus
extern "C" {
#endif

/* The model of `file` is y = 2 x + b, float32 [2, 3], with the metadata licence = "mine". */
int use_model(const char* file);
int misuse(const char* file);
int misuse_tensors(const char* file);

#ifdef __cplusplus
}
#endif
#endif
