// All networks of neura/models, by torchvision's and Hugging Face's names.
#pragma once
#include "neura/models/language.h"
#include "neura/models/mobilenet.h"
#include "neura/models/resnet.h"
#include "neura/models/small.h"
#include "neura/models/unet.h"
#include "neura/models/vgg.h"
#include "neura/models/vision_transformer.h"
