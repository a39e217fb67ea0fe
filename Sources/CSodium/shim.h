#ifndef TALKAROUND_CSODIUM_H
#define TALKAROUND_CSODIUM_H
#include <sodium.h>
#endif
