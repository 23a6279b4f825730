// All in one process: what a mutant costs is mostly the start of it.
import '../../test/engine/cause.test.ts'
import '../../test/engine/judge.test.ts'
import '../../test/engine/outcome.test.ts'
import '../../test/engine/stuck.test.ts'
import '../../test/engine/tally.test.ts'
