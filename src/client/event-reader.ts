/** One event of a `text/event-stream`, as it came. */
export interface WireEvent {
  readonly name: string
  readonly id: string | undefined
  readonly data: string
}

/** Reads events out of bytes, in linear time; comments and fields that it does not know are passed over. */
export interface EventReader {
  /** `false`: one event is longer than the limit. */
  readonly push: (bytes: Uint8Array) => boolean
}

export const eventReader = (limitBytes: number, heard: (event: WireEvent) => void): EventReader => {
  const decoder = new TextDecoder()
  let line: string[] = []
  let afterReturn = false
  let lengthBytes = 0
  let name = ''
  let id: string | undefined
  let data: string[] = []

  const dispatch = (): void => {
    if (data.length > 0) heard({ name: name || 'message', id, data: data.join('\n') })
    name = ''
    data = []
    lengthBytes = 0
  }
  const endLine = (): void => {
    const text = line.join('')
    line = []
    if (text === '') {
      dispatch()
      return
    }
    const [field, value] = fieldOf(text)
    if (field === 'data') data.push(value)
    else if (field === 'event') name = value
    else if (field === 'id') id = value
  }

  return {
    push: bytes => {
      lengthBytes += bytes.length
      let text = decoder.decode(bytes, { stream: true })
      if (text === '') return lengthBytes <= limitBytes
      if (afterReturn && text.startsWith('\n')) text = text.slice(1)
      afterReturn = text.endsWith('\r')
      const [first = '', ...others] = text.split(/\r\n|\r|\n/)
      line.push(first)
      for (const next of others) {
        endLine()
        line.push(next)
      }
      return lengthBytes <= limitBytes
    },
  }
}

const fieldOf = (line: string): readonly [field: string, value: string] => {
  const colon = line.indexOf(':')
  if (colon === -1) return [line, '']
  return [line.slice(0, colon), line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)]
}
