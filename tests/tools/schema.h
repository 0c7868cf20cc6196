// Schema: holds a JSON text against a published schema with an independent implementation.
#pragma once

#include <string>

namespace draftproof::tests {

/// False when python3-jsonschema is missing; the test then skips.
bool can_validate();

/// Empty when `json` conforms to tools/schema/NAME, else the first complaint.
std::string schema_complaint(const std::string& name, const std::string& json);

}  // namespace draftproof::tests
