// The checks of calibration, one function each; calibration.cpp lists them.
#pragma once

#include "properties/calibration/calibration.h"

namespace draftproof::properties::calibration {

Finding places_are_uniform(const Settings& settings);
Finding randomised_p_values_are_uniform(const Settings& settings);
Finding tails_are_as_stated(const Settings& settings);
Finding bets_are_fair(const Settings& settings);
Finding alarms_are_rare(const Settings& settings);
Finding certificates_are_rarely_false(const Settings& settings);
Finding faults_take_what_was_foretold(const Settings& settings);
Finding pairs_take_what_was_foretold(const Settings& settings);

}  // namespace draftproof::properties::calibration
