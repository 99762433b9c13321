// The test program can act as the spawner's executable, as the daemon's binary does.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "corisco/rollouts/spawner.h"

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "__spawner") == 0) {
    return corisco::rollouts::spawner_main(std::atoi(argv[2]));
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
