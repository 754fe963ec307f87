// Data loading: data sets, samplers, loaders, files of pictures, transforms.
#pragma once
#include "neura/data/combine.h"
#include "neura/data/csv.h"
#include "neura/data/idx.h"
#include "neura/data/image_sets.h"
#include "neura/data/loader.h"
#include "neura/data/mnist.h"
#include "neura/data/png.h"
#include "neura/data/text.h"
#include "neura/data/transforms.h"
