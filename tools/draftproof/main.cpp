// The process: everything else is command_line.h.
#include <iostream>
#include <string>
#include <vector>

#include "tools/draftproof/command_line.h"

int main(int argument_count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + argument_count);
  return draftproof::tools::run_command_line(words, {std::cout, std::cerr});
}
