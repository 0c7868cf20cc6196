// Examination: the doctor's look at both arms that `audit` begins with, since whoever judges two
// models, two arms that draft or none that does convicts, or clears, the wrong thing.
#pragma once

#include <string>
#include <vector>

#include "tools/audit/arms.h"
#include "tools/audit/doctor.h"

namespace draftproof::tools::audit {

/// The arms as patients. One server alone is examined as the arm that it is by its own words, where
/// it has some.
std::vector<Patient> patients_of(const AuditConfig& config, const Arms& arms);

/// A short examination: fewer draws than `doctor` makes. Warnings for what an audit rests on and
/// was not shown, a line each. Throws Error(kInput) at the arm with the finding and its remedy when
/// something does not hold. `target`: the known law, or null.
std::vector<std::string> need_sound_arms(const AuditConfig& config, const Arms& arms,
                                         const properties::audits::KnownTarget* target);

}  // namespace draftproof::tools::audit
