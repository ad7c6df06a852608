# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
# Makes a source of the bytes of a file: cmake -DFROM=… -DTO=… -P description.cmake
file(READ "${FROM}" bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(.....................................................................................)" "\\1\n" bytes "${bytes}")
file(WRITE "${TO}" "#include \"description.h\"

namespace colltune {
namespace {
constexpr unsigned char bytes[] = {
${bytes}
};
}  // namespace
const std::string_view wire_description(reinterpret_cast<const char*>(bytes), sizeof bytes);
}  // namespace colltune
")
