// The day, in the time zone of this process, that each of the times named lies in.
import { windowsOf } from '../../../src/budget/windows.ts'

console.log(JSON.stringify(process.argv.slice(2).map(time => windowsOf(Date.parse(time)).day)))
