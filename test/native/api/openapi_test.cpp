#include "api/openapi.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace {

namespace api = millrace::api;

TEST(OpenApi, HasSchemasInOrderThatNameSchemas) {
  const auto names = api::openapi_schema_names();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_TRUE(api::openapi_schema("NoSuchSchema").is_null());
  constexpr std::string_view mark = "#/components/schemas/";
  for (const std::string_view name : names) {
    const auto schema = api::openapi_schema(name);
    EXPECT_TRUE(schema.is_object()) << name;
    const std::string text = schema.to_json();
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
      const std::size_t begin = at + mark.size();
      const std::string used = text.substr(begin, text.find('"', begin) - begin);
      EXPECT_NE(std::find(names.begin(), names.end(), used), names.end()) << name << ": " << used;
    }
  }
}

TEST(OpenApi, DescribesARouteByItsRow) {
  const std::vector<api::ApiRoute> routes{
      {"GET",
       "/api/v1/jobs/{job_id}/events",
       "read",
       "The log.",
       {},
       "",
       "JobEvents",
       200,
       0,
       "after:string limit:integer"},
      {"POST", "/api/v1/jobs", "chat", "Starts.", {}, "JobRequest", "Job", 202}};
  const auto document = api::openapi_document(routes, "1.2.3", "http://localhost:1");
  EXPECT_EQ(document["openapi"].string(), "3.0.3");
  EXPECT_EQ(document["info"]["version"].string(), "1.2.3");
  const auto& events = document["paths"]["/api/v1/jobs/{job_id}/events"]["get"];
  EXPECT_EQ(events["operationId"].string(), "getApiV1JobsJobIdEvents");
  EXPECT_EQ(events["x-scope"].string(), "read");
  EXPECT_EQ(events["description"].string(), "The log. It needs a key with the scope `read`.");
  ASSERT_EQ(events["parameters"].items().size(), 3U);
  EXPECT_EQ(events["parameters"].items()[0]["in"].string(), "path");
  EXPECT_EQ(events["parameters"].items()[2]["schema"]["type"].string(), "integer");
  EXPECT_TRUE(events["requestBody"].is_null());
  const auto& start = document["paths"]["/api/v1/jobs"]["post"];
  EXPECT_TRUE(start["responses"]["202"].is_object());
  EXPECT_TRUE(start["responses"]["401"].is_object());
  EXPECT_TRUE(start["responses"]["default"].is_object());
  EXPECT_TRUE(start["requestBody"]["content"]["application/json"].is_object());
}

}  // namespace
