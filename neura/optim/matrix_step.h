// Steps of the optimizers that need a parameter as a matrix, made of operations. Nothing waits for a device.
#pragma once
#include "neura/optim/optimizers.h"

namespace neura::optim::detail {

// NotImplementedError inside a graph's capture or a trace: the step's numbers would be those of the recording.
void refuse_recording(const char* name, const Tensor& parameter);

// Adafactor (Shazeer and Stern, 2018). t counts steps from 1. `rows` [..., R, 1] and `columns` [..., 1, C] are the
// averages of a matrix's squares; below two dimensions `rows` is the average itself, and there are no columns.
void adafactor_step(Tensor p, const Tensor& grad, double t, const AdafactorOptions&, Tensor rows,
                    const Tensor& columns);

// Muon (Jordan et al., 2024): momentum whose matrix is made orthogonal.
void muon_step(Tensor p, const Tensor& grad, const MuonOptions&, Tensor momentum_buffer);
// The matrix with its singular values brought near 1, by steps of Newton and Schulz in bfloat16.
Tensor orthogonal(const Tensor& matrix, const Triple& coefficients, std::int64_t steps, double eps);

}  // namespace neura::optim::detail
