// Saved tensors, trees of values and checkpoints.
#pragma once
#include "neura/io/checkpoint.h"
#include "neura/io/safetensors.h"
#include "neura/io/value.h"
