// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/export/formats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>

namespace colltune {
namespace {

using ::testing::HasSubstr;

TEST(ExportFormats, TheReadmeHasTheTableOfTheList) {
  std::ifstream file(COLLTUNE_CLI_README);
  const std::string readme{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(readme, HasSubstr(export_formats_table()));
}

TEST(ExportFormats, EachSaysWhoReadsItAndWhatItIsMadeOf) {
  std::set<std::string_view> names;
  for (const ExportFormat& format : export_formats()) {
    EXPECT_TRUE(names.insert(format.name).second) << format.name;
    for (const std::string_view text :
         {format.what, format.consumer, format.numbers, format.cannot, format.example}) {
      EXPECT_FALSE(text.empty()) << format.name;
      EXPECT_EQ(text.find('|'), std::string_view::npos) << format.name;  // it ends a table's cell
    }
    EXPECT_TRUE(format.example.starts_with(format.name)) << format.name;
  }
}

}  // namespace
}  // namespace colltune
