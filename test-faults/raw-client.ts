import { connect, type Socket } from 'node:net'

/**
 * One connection that is kept for as long as the other side keeps it, and is made anew after that. A line that was closed while the next
 * request was on its way has answered nothing, as it may between two requests; then that one is sent once more, on a new line.
 */
export interface RawClient {
  /** Sends these bytes and resolves with one whole answer, or what came of one until the line was closed. */
  readonly ask: (bytes: Buffer) => Promise<string>
  readonly close: () => void
}

export const rawClient = (port: number): RawClient => {
  let socket: Socket | undefined
  const open = (): Socket => {
    if (socket !== undefined && !socket.destroyed && socket.writable) return socket
    socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    return socket
  }
  return {
    ask: async bytes => {
      const isUsed = socket !== undefined && !socket.destroyed
      const answer = await askOnce(bytes)
      return answer === '' && isUsed ? askOnce(bytes) : answer
    },
    close: () => socket?.destroy(),
  }

  function askOnce(bytes: Buffer): Promise<string> {
    return new Promise(resolve => {
      const line = open()
      let text = ''
      const finish = (): void => {
        line.off('data', onData).off('close', finish)
        resolve(text)
      }
      const onData = (part: Buffer): void => {
        text += part.toString('latin1')
        const end = text.indexOf('\r\n\r\n')
        const length = /^content-length: (\d+)/im.exec(text.slice(0, end))?.[1]
        if (end === -1 || length === undefined || text.length < end + 4 + Number(length)) return
        // What would come behind is of this request as well, so the line is not used again.
        if (/^connection: close/im.test(text.slice(0, end)) || text.length > end + 4 + Number(length)) line.destroy()
        finish()
      }
      line.on('data', onData).once('close', finish)
      line.write(bytes)
    })
  }
}
