// ./gradus diagnose: built when it is first asked for, then started.
#include "lessons/runner/build.h"
#include "lessons/runner/commands.h"

namespace gradus {

int diagnose_command(const Course& course, const std::vector<std::string>& arguments) {
  constexpr const char* target = "lessons/runner/gradus-diagnose";
  const Options& options = course.defaults;
  if (build_target(course.build, target, find_terminal(options), options.lang) != 0)
    return 2;  // nothing could be checked
  std::vector<std::string> all = {options.lang == Lang::zh ? "--lang=zh" : "--lang=en"};
  if (options.plain) all.push_back("--plain");
  all.insert(all.end(), arguments.begin(), arguments.end());  // what is said last holds
  return become(course.build / target, all, options.lang);
}

}  // namespace gradus
