// What reads, writes or frees the structs of oflib: each does its part of one description of them.
#ifndef OFL_ARCHIVE_H
#define OFL_ARCHIVE_H

#include <algorithm>
#include <cstring>
#include <vector>

#include "oflib/ofl.h"

// Makes structs of bytes. What is missing reads as zeros, and IsOk is false.
class OflReader
{
  public:
    static constexpr bool IS_READER = true;
    static constexpr bool IS_WRITER = false;

    OflReader(const uint8_t* bytes, size_t length)
        : m_bytes(bytes),
          m_end(length)
    {
    }

    bool IsOk() const
    {
        return m_isOk;
    }

    void Fail()
    {
        m_isOk = false;
    }

    // A number that takes this many bytes, which may be wider in the struct.
    template <size_t BYTES, class T>
    void Number(T& value)
    {
        value = static_cast<T>(Peek(BYTES));
        Pad(BYTES);
    }

    void Pad(size_t bytes)
    {
        m_isOk = m_isOk && bytes <= m_end - m_at;
        m_at = std::min(m_at + bytes, m_end);
    }

    void Align(size_t)
    {
    }

    void Bytes(uint8_t* bytes, size_t length)
    {
        std::memset(bytes, 0, length);
        std::memcpy(bytes, m_bytes + m_at, std::min(length, m_end - m_at));
        Pad(length);
    }

    // A text in a place of a fixed size.
    void Text(char*& text, size_t length)
    {
        text = static_cast<char*>(xcalloc(length + 1, 1));
        Bytes(reinterpret_cast<uint8_t*>(text), length);
    }

    // All bytes to the end.
    void Rest(uint8_t*& bytes, size_t& length)
    {
        length = m_end - m_at;
        bytes = length ? static_cast<uint8_t*>(xmalloc(length)) : nullptr;
        if (bytes)
        {
            Bytes(bytes, length);
        }
    }

    // A struct, whose place the pointer gets.
    template <class T, class Base>
    T* Make(Base*& place)
    {
        place = static_cast<Base*>(xcalloc(1, sizeof(T)));
        return reinterpret_cast<T*>(place);
    }

    template <class T>
    void Drop(T*&)
    {
    }

    // The next bytes as a number.
    uint64_t Peek(size_t bytes) const
    {
        uint64_t number = 0;
        for (size_t i = m_at; i < m_at + bytes && i < m_end; i++)
        {
            number = number << 8 | m_bytes[i];
        }
        return number;
    }

    // Something that has its length in bytes, given by Length, and is followed by padding.
    template <class F>
    void Frame(size_t alignment, F body)
    {
        size_t end = m_end;
        size_t start = m_start;
        m_start = m_at;
        bool isSized = m_isSized;
        m_isSized = false;
        body();
        if (m_isSized)
        {
            size_t bytes = (m_end - m_start + alignment - 1) / alignment * alignment;
            m_at = std::min(m_start + bytes, end);
        }
        m_end = end;
        m_start = start;
        m_isSized = isSized;
    }

    template <class T>
    void Length(T& length)
    {
        Number<2>(length);
        size_t end = m_start + length;
        m_isOk = m_isOk && end >= m_at && end <= m_end;
        m_end = std::min(std::max(end, m_at), m_end);
        m_isSized = true;
    }

    // A length of a body that begins after padding.
    template <class F>
    void Part(size_t padding, F body)
    {
        uint16_t length = 0;
        Number<2>(length);
        Pad(padding);
        size_t end = m_end;
        m_isOk = m_isOk && length <= m_end - m_at;
        m_end = std::min(m_at + length, m_end);
        body();
        m_at = m_end;
        m_end = end;
    }

    // Items to the end.
    template <class T, class N, class F>
    void List(T**& items, N& count, F item)
    {
        // Pointers, one behind the other.
        Array(items, count, item);
    }

    // The same, one behind the other in memory.
    template <class T, class N, class F>
    void Array(T*& items, N& count, F item)
    {
        std::vector<T> read;
        while (m_isOk && m_at < m_end)
        {
            size_t at = m_at;
            read.emplace_back();
            item(read.back());
            m_isOk = m_isOk && m_at > at;
        }
        count = read.size();
        items = static_cast<T*>(xcalloc(read.size() + 1, sizeof(T)));
        std::copy(read.begin(), read.end(), items);
    }

    bool IsAtEnd() const
    {
        return !m_isOk || m_at >= m_end;
    }

  private:
    const uint8_t* m_bytes;
    size_t m_at{0};
    size_t m_end;
    size_t m_start{0};
    bool m_isSized{false};
    bool m_isOk{true};
};

// Makes bytes of structs. IsOk is false for what has no bytes.
class OflWriter
{
  public:
    static constexpr bool IS_READER = false;
    static constexpr bool IS_WRITER = true;

    std::vector<uint8_t> bytes;

    bool IsOk() const
    {
        return m_isOk;
    }

    void Fail()
    {
        m_isOk = false;
    }

    template <size_t BYTES, class T>
    void Number(T& value)
    {
        for (size_t i = BYTES; i-- > 0;)
        {
            bytes.push_back(static_cast<uint64_t>(value) >> (8 * i));
        }
    }

    void Pad(size_t count)
    {
        bytes.resize(bytes.size() + count);
    }

    void Align(size_t alignment)
    {
        while ((bytes.size() - m_start) % alignment)
        {
            bytes.push_back(0);
        }
    }

    void Bytes(uint8_t* from, size_t length)
    {
        bytes.insert(bytes.end(), from, from + length);
    }

    void Text(char*& text, size_t length)
    {
        size_t used = text ? strnlen(text, length) : 0;
        bytes.insert(bytes.end(), text, text + used);
        Pad(length - used);
    }

    void Rest(uint8_t*& from, size_t& length)
    {
        Bytes(from, from ? length : 0);
    }

    template <class T, class Base>
    T* Make(Base*& place)
    {
        static T nothing{};
        m_isOk = m_isOk && place;
        return place ? reinterpret_cast<T*>(place) : &nothing;
    }

    template <class T>
    void Drop(T*&)
    {
    }

    template <class F>
    void Frame(size_t alignment, F body)
    {
        size_t start = m_start;
        size_t length = m_length;
        m_start = bytes.size();
        m_length = NONE;
        body();
        if (m_length != NONE)
        {
            Put(m_length, bytes.size() - m_start);
        }
        Align(alignment);
        m_start = start;
        m_length = length;
    }

    template <class T>
    void Length(T&)
    {
        m_length = bytes.size();
        Pad(2);
    }

    template <class F>
    void Part(size_t padding, F body)
    {
        size_t at = bytes.size();
        Pad(2 + padding);
        size_t begin = bytes.size();
        body();
        Put(at, bytes.size() - begin);
    }

    template <class T, class N, class F>
    void List(T**& items, N& count, F item)
    {
        Array(items, count, item);
    }

    template <class T, class N, class F>
    void Array(T*& items, N& count, F item)
    {
        for (size_t i = 0; i < count; i++)
        {
            item(items[i]);
        }
    }

  private:
    static constexpr size_t NONE = SIZE_MAX;

    void Put(size_t at, size_t length)
    {
        m_isOk = m_isOk && length <= UINT16_MAX;
        bytes[at] = length >> 8;
        bytes[at + 1] = length;
    }

    size_t m_start{0};
    size_t m_length{NONE};
    bool m_isOk{true};
};

// Frees structs.
class OflFreer
{
  public:
    static constexpr bool IS_READER = false;
    static constexpr bool IS_WRITER = false;

    void Fail()
    {
    }

    template <size_t BYTES, class T>
    void Number(T&)
    {
    }

    void Pad(size_t)
    {
    }

    void Align(size_t)
    {
    }

    void Bytes(uint8_t*, size_t)
    {
    }

    void Text(char*& text, size_t)
    {
        Drop(text);
    }

    void Rest(uint8_t*& bytes, size_t&)
    {
        Drop(bytes);
    }

    template <class T, class Base>
    T* Make(Base*& place)
    {
        static T nothing{};
        return place ? reinterpret_cast<T*>(place) : &nothing;
    }

    template <class T>
    void Drop(T*& place)
    {
        std::free(place);
        place = nullptr;
    }

    template <class F>
    void Frame(size_t, F body)
    {
        body();
    }

    template <class T>
    void Length(T&)
    {
    }

    template <class F>
    void Part(size_t, F body)
    {
        body();
    }

    template <class T, class N, class F>
    void List(T**& items, N& count, F item)
    {
        for (size_t i = 0; i < count; i++)
        {
            item(items[i]);
        }
        Drop(items);
        count = 0;
    }

    template <class T, class N, class F>
    void Array(T*& items, N& count, F)
    {
        Drop(items);
        count = 0;
    }
};

#endif
