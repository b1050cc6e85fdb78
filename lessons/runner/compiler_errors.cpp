// Common errors of g++ and clang++, and what they mean.
#include "lessons/runner/compiler_errors.h"

#include <algorithm>
#include <charconv>
#include <vector>

namespace gradus {

namespace {

struct Explanation {
  std::string_view patterns;  // of the message, without our namespaces: one of several; * is any text
  Said why;
};

// The first that fits is taken.
const std::vector<Explanation>& explanations() {
  static const std::vector<Explanation> table = {
      {"signal terminated program|unable to execute command|frontend command failed|out of memory",
       {"the compiler gave up: what this file asks for takes too much memory, or makes a program of more than 64 MB",
        "编译器放弃了：这个文件需要的内存太多，或生成的程序超过 64 MB"}},
      {"before '=='|invalid '=='",
       {"== compares two numbers; a variable gets its value with =", "== 是比较；给变量赋值用 ="}},
      {"subscript operator|operator[]",
       {"a Var has no [ ]: select(x, Axis{k}, i) takes one position of an axis, narrow several",
        "Var 不能用 [ ]：select(x, Axis{k}, i) 取某个轴上的一个位置，narrow 取一段"}},
      {"operand of '->'|is not a pointer",
       {"this is no pointer: its fields follow a dot, as in memory.keys",
        "这不是指针：成员前面用点，例如 memory.keys"}},
      {"of type 'const Var&'|of type 'const Tensor&'|to 'const Var'|to 'const Tensor'",
       {"ops compute with Vars: Var(tensor) makes one of a Tensor, x.value() is the Tensor of a Var; plain numbers "
        "have "
        "std::sqrt and the like",
        "运算作用在 Var 上：Var(tensor) 由 Tensor 得到 Var，x.value() 取出 Var 的 Tensor；普通的数用 std::sqrt 之类"}},
      {"no viable overloaded '='",
       {"this cannot be assigned: the inputs are const, so make a new Var; or the types differ",
        "这里不能赋值：输入是 const 的，请新建一个 Var；或者类型不同"}},
      {R"(\U0000|\3|non-ASCII character|unexpected character <U+|extended character|stray '*' in program)",
       {"a character that is no C++ stands here, often a full-width ； ， （ ） “ ” from a Chinese keyboard",
        "这里有 C++ 不认识的字符，多半是中文输入法打出的全角 ； ， （ ） “ ”，请改成半角"}},
      {"expected '}'|function-definition is not allowed here|function definition is not allowed here|expected "
       "declaration before end|at end of input",
       {"a { has no } of its own: look for it above, in the function that you wrote last",
        "有一个 { 没有配对的 }：往上找，多半在最近写的那个函数里"}},
      {"extraneous closing brace|expected declaration before '}'",
       {"there is one } too many: it ends the function or the namespace too early",
        "多了一个 }：函数或命名空间被提前结束了"}},
      {"does not name a type|expected unqualified-id|unknown type name",
       {"a statement stands outside of any function, or a type is misspelled: look for a } that came too early",
        "语句写到了函数外面，或类型名拼错了：检查前面是否有提前出现的 }"}},
      {"expected ';'|expected ',' or ';'|expected initializer before",
       {"a ; is missing at the end of this line or of the one before it", "这一行或上一行的末尾少了 ;"}},
      {"expected ')'|expected primary-expression|expected expression",
       {"the expression breaks off: count the brackets, and look for a comma too many",
        "表达式不完整：数一数括号，看看是否多了逗号"}},
      {"to 'Axis'",
       {"an axis is written Axis{1}, not 1, so that it cannot be mistaken for a length",
        "轴要写成 Axis{1} 而不是 1，这样不会和长度混淆"}},
      {"was not declared|is not a member of|undeclared identifier|no member named '*' in namespace|has not been "
       "declared",
       {"this name is not known here: misspelled, declared further down, or of another scope",
        "这里不认识这个名字：拼错了、声明在后面，或属于另一个作用域"}},
      {"has no member named|no member named",
       {"this type has no such field or function; exercise.h and the headers that it includes list them",
        "这个类型没有这个成员；exercise.h 和它包含的头文件里列出了全部成员"}},
      {"too few arguments", {"an argument is missing in this call", "这个调用少了参数"}},
      {"too many arguments", {"this call has more arguments than the function takes", "这个调用的参数太多了"}},
      {"no match for 'operator|invalid operands",
       {"this operator does not go with these types: a product of matrices is matmul, and two Vars must have one shape",
        "这个运算符不适用于这些类型：矩阵乘法用 matmul，两个 Var 的形状必须相同"}},
      {"no matching function|no matching constructor|no match for call|cannot convert|could not convert|no viable",
       {"the arguments are not of the types that this function takes; compare with its declaration, argument by "
        "argument",
        "参数类型与函数要求的不符；请与它的声明逐个对照"}},
      {"no return statement|control reaches end|non-void function|no value, in function",
       {"this function promises a result: every way through it must end in return",
        "这个函数必须有返回值：每条路径都要以 return 结束"}},
      {"redefinition|previously defined|redeclar", {"this name is defined twice", "这个名字定义了两次"}},
      {"read-only|discards qualifiers|const-qualified|is const",
       {"the inputs are const: make a new Var instead of changing one",
        "输入是 const 的：请新建一个 Var，而不是修改它"}},
      {"ambiguous",
       {"several functions fit equally well; write which one: gradus::name",
        "有几个函数同样合适；写明是哪一个：gradus::名字"}},
      {"No such file|file not found",
       {"there is no header of this name; names start at the checkout's root: \"nn/layers.h\"",
        "没有这个头文件；路径从代码根目录写起：\"nn/layers.h\""}},
      {"missing terminating", {"a text is not closed with \"", "字符串缺少结尾的 \""}},
      {"narrowing",
       {"a wider number is put into a narrower one; sizes here are std::int64_t",
        "把较宽的数放进了较窄的类型；这里的长度都是 std::int64_t"}},
  };
  return table;
}

// Whether the pieces of a pattern, between its *, follow each other in the text.
bool fits(std::string_view text, std::string_view pattern) {
  while (true) {
    const std::string_view piece = pattern.substr(0, pattern.find('*'));
    const std::size_t at = text.find(piece);
    if (at == text.npos) return false;
    if (piece.size() == pattern.size()) return true;
    text.remove_prefix(at + piece.size());
    pattern.remove_prefix(piece.size() + 1);
  }
}

bool fits_one(std::string_view text, std::string_view patterns) {
  while (true) {
    const std::string_view pattern = patterns.substr(0, patterns.find('|'));
    if (fits(text, pattern)) return true;
    if (pattern.size() == patterns.size()) return false;
    patterns.remove_prefix(pattern.size() + 1);
  }
}

// Quotes as ', and names without our namespaces.
std::string simplified(std::string text) {
  const std::pair<const char*, const char*> changes[] = {
      {"\xE2\x80\x98", "'"}, {"\xE2\x80\x99", "'"}, {"gradus::", ""}, {"std::__cxx11::", "std::"}};
  for (const auto& [from, to] : changes) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos;)
      text.replace(at, std::string_view(from).size(), to);
  }
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  for (std::size_t at = 0; (at = text.find("lesson", at)) != std::string::npos;) {  // lesson09::
    const std::string_view name = std::string_view(text).substr(at, 10);
    if (name.size() == 10 && digit(name[6]) && digit(name[7]) && name.ends_with("::")) text.erase(at, 10);
    else at += 6;
  }
  return text;
}

// "file:12:5: rest" of a line; false if it does not begin so.
bool split(std::string_view line, const std::string& file, int& row, int& column, std::string_view& rest) {
  if (!line.starts_with(file) || line.size() <= file.size() || line[file.size()] != ':') return false;
  const char *at = line.data() + file.size() + 1, *end = line.data() + line.size();
  const auto first = std::from_chars(at, end, row);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ':') return false;
  column = 0;
  const auto second = std::from_chars(first.ptr + 1, end, column);
  const char* after = second.ec == std::errc() ? second.ptr : first.ptr;
  rest = std::string_view(after, static_cast<std::size_t>(end - after));
  while (!rest.empty() && (rest.front() == ':' || rest.front() == ' ')) rest.remove_prefix(1);
  return true;
}

}  // namespace

CompilerError first_error(std::string_view output, const std::string& file) {
  CompilerError found;
  const std::string_view all = output;
  int led_to_row = 0, led_to_column = 0;  // a line of the learner that a complaint elsewhere came from
  std::string elsewhere;
  while (!output.empty() && found.message.empty()) {
    const std::string_view line = output.substr(0, output.find('\n'));
    output.remove_prefix(std::min(output.size(), line.size() + 1));
    int row = 0, column = 0;
    std::string_view rest;
    const bool here = split(line, file, row, column, rest);
    const std::size_t error = line.find("error: ");
    if (here && (rest.starts_with("error: ") || rest.starts_with("fatal error: "))) {
      found.line = row;
      found.column = column;
      found.message = simplified(std::string(rest.substr(rest.find("error: ") + 7)));
    } else if (here && led_to_row == 0) {
      led_to_row = row;
      led_to_column = column;
    } else if (!here && error != line.npos && elsewhere.empty()) {
      elsewhere = simplified(std::string(line.substr(error + 7)));
    }
  }
  if (found.message.empty()) {
    const std::size_t memory = all.find("out of memory");
    found.message = !elsewhere.empty() || memory == all.npos ? elsewhere : "out of memory";
    found.line = led_to_row;
    found.column = led_to_column;
  }
  // What the compiler notes below the error: which argument did not fit.
  const std::string notes = simplified(std::string(output.substr(0, output.find("error: "))));
  const bool axis =
      notes.find("from 'int' to 'Axis'") != notes.npos || notes.find("from 'int' to 'const Axis'") != notes.npos;
  for (const Explanation& explanation : explanations()) {
    if (!fits_one(axis ? "to 'Axis'" : found.message, explanation.patterns)) continue;
    found.why = explanation.why;
    break;
  }
  return found;
}

std::string missing_function(std::string_view linker_output) {
  for (const std::string_view words : {"undefined reference to ", "undefined symbol: "}) {
    const std::size_t at = linker_output.find(words);
    if (at == linker_output.npos) continue;
    std::string_view name = linker_output.substr(at + words.size());
    if (name.starts_with('`') || name.starts_with('\'')) name.remove_prefix(1);
    return simplified(std::string(name.substr(0, name.find_first_of("('\n"))));
  }
  return "";
}

}  // namespace gradus
