// The protocol of __torch_function__: classes, and modes, that want to see calls of functions.
#pragma once
#include "common.h"

namespace neura::python {

// How many classes of tensors and modes of any thread there are that want to. While it is 0, no call looks further.
extern int overriding;

bool overrides_calls(PyTypeObject*);  // has it a __torch_function__ of its own, or Tensor's?

// "tensor(...)" with the name of a subclass in its place, and the lines below as far to the right.
std::string under_name_of(PyObject* self, const std::string& text);

// Does an argument, or a mode of this thread, take the place of the function? Then `result` is what it gave, or null
// with an error.
bool overridden(PyObject* function, PyObject* const* args, std::size_t flagged, PyObject* names, PyObject*& result);
// The same for objects that are no tensors: asked once a call has failed with a TypeError.
bool overridden_after_failure(PyObject* function, PyObject* const* args, std::size_t flagged, PyObject* names,
                              PyObject*& result);
// The same for an operator of Tensor, which stands for this method; b (and c) may be null.
bool operator_overridden(const char* method, PyObject* a, PyObject* b, PyObject*& result, PyObject* c = nullptr);
// The same for an attribute of Tensor, which stands for the __get__ of its property.
bool overridden_attribute(const char* name, PyObject* self, PyObject*& result);

void bind_overrides(nb::module_&);

}  // namespace neura::python
