// All in one process: what a mutant costs is mostly the start of it. Those that need no socket come first.
import '../../test/bus/accept.test.ts'
import '../../test/bus/admit.test.ts'
import '../../test/bus/guards.test.ts'
import '../../test/protocol/envelope.test.ts'
import '../../test/protocol/failure.test.ts'
import '../../test/bus/hold.test.ts'
import '../../test/bus/tokens.test.ts'
import '../../test/bus-handler.test.ts'
