// The whole library in one include, for programs outside this tree: #include <gradus/gradus.h>
#pragma once
