// Optimizers and learning rates.
#pragma once
#include "neura/optim/grad_scaler.h"
#include "neura/optim/lbfgs.h"
#include "neura/optim/lr_scheduler.h"
#include "neura/optim/optimizers.h"
